// A vector for many megabytes that are written once: it lies in huge pages where the system gives them, which
// saves thousands of page faults, and resize() leaves new elements as they are in memory, not set to zero.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace annulus {

inline constexpr std::size_t kPage = 4096;

// Throws std::bad_alloc. What is freed goes back to the system at once, if it is 2 MiB or more.
void* allocate_large(std::size_t bytes);
void free_large(void* memory, std::size_t bytes);

template <typename T>
struct LargeAllocator {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_copyable_v<T>,
                "for numbers and plain structs of them, which need no constructor");
  using value_type = T;

  LargeAllocator() = default;
  template <typename Other>
  LargeAllocator(const LargeAllocator<Other>&) {}

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_large(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) { free_large(memory, count * sizeof(T)); }

  template <typename U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <typename U, typename... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    std::construct_at(place, std::forward<Arguments>(arguments)...);
  }

  bool operator==(const LargeAllocator&) const = default;
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace annulus
