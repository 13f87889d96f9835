// An array for the numbers of a frame. A cake's are megabytes that come and go with every frame, so large
// arrays lie in memory that is used again (core/buffer_pool.hpp), until the scan ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace annulus {

// From the pool of the whole process; not initialised. Throws std::bad_alloc.
std::shared_ptr<std::byte[]> take_frame_memory(std::size_t bytes);

template <typename T>
class PooledArray {
  static_assert(std::is_trivially_copyable_v<T>, "for numbers");

 public:
  using value_type = T;

  PooledArray() = default;
  // Elements have no value yet.
  explicit PooledArray(std::size_t size) : memory_(allocate(size)), size_(size) {}
  PooledArray(std::size_t size, T value) : PooledArray(size) { std::fill(begin(), end(), value); }
  explicit PooledArray(std::span<const T> values) : PooledArray(values.size()) {
    std::copy(values.begin(), values.end(), begin());
  }
  PooledArray(const std::vector<T>& values) : PooledArray(std::span<const T>(values)) {}  // for convenience
  PooledArray(std::initializer_list<T> values)
      : PooledArray(std::span<const T>(values.begin(), values.size())) {}

  PooledArray(const PooledArray& other) : PooledArray(std::span<const T>(other)) {}
  PooledArray(PooledArray&& other) noexcept
      : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
  PooledArray& operator=(PooledArray other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PooledArray() = default;

  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return memory_[static_cast<std::ptrdiff_t>(i)]; }
  const T& operator[](std::size_t i) const { return memory_[static_cast<std::ptrdiff_t>(i)]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

  bool operator==(const PooledArray& other) const { return std::ranges::equal(*this, other); }

 private:
  static std::shared_ptr<T[]> allocate(std::size_t size) {
    if (size == 0) return nullptr;
    const std::shared_ptr<std::byte[]> memory = take_frame_memory(size * sizeof(T));
    return {memory, reinterpret_cast<T*>(memory.get())};
  }

  std::shared_ptr<T[]> memory_;
  std::size_t size_ = 0;
};

}  // namespace annulus
