// An array that changes no more, whoever holds it: a vector, memory of its own, a mapped file. Copies share
// the owner, so that handing on a plan of many megabytes costs nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace annulus {

template <typename T>
class SharedArray {
 public:
  SharedArray() = default;
  template <typename Allocator>
  SharedArray(std::vector<T, Allocator> values) {  // not explicit: a vector that is done is such an array
    auto owner = std::make_shared<const std::vector<T, Allocator>>(std::move(values));
    view_ = *owner;
    owner_ = std::move(owner);
  }
  SharedArray(std::shared_ptr<const void> owner, std::span<const T> view)
      : owner_(std::move(owner)), view_(view) {}

  const T* data() const { return view_.data(); }
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  const T& operator[](std::size_t i) const { return view_[i]; }
  const T& front() const { return view_.front(); }
  const T& back() const { return view_.back(); }
  auto begin() const { return view_.begin(); }
  auto end() const { return view_.end(); }
  std::span<const T> view() const { return view_; }

  bool operator==(const SharedArray& other) const { return std::ranges::equal(view_, other.view_); }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const T> view_;
};

}  // namespace annulus
