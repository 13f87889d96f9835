// Bytes that somebody owns: a vector, a memory map, a network message. Copies share the owner.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace annulus {

class Bytes {
 public:
  Bytes() = default;
  Bytes(std::shared_ptr<const void> owner, std::span<const std::byte> view)
      : owner_(std::move(owner)), view_(view) {}

  explicit Bytes(std::vector<std::byte> bytes) {
    auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    view_ = *owner;
    owner_ = std::move(owner);
  }

  std::span<const std::byte> view() const { return view_; }
  const std::byte* data() const { return view_.data(); }
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }

  // A part of these bytes, kept alive by the same owner.
  Bytes slice(std::size_t offset, std::size_t count) const { return {owner_, view_.subspan(offset, count)}; }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> view_;
};

}  // namespace annulus
