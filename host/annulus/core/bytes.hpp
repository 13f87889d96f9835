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

  // `intact` tells, given the owner, whether the bytes are still what they were when they were given out.
  Bytes(std::shared_ptr<const void> owner, std::span<const std::byte> view, bool (*intact)(const void* owner))
      : owner_(std::move(owner)), view_(view), intact_(intact) {}

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
  Bytes slice(std::size_t offset, std::size_t count) const {
    return {owner_, view_.subspan(offset, count), intact_};
  }

  // The same bytes; `companion` lives as long as they do, and is let go after them.
  Bytes together_with(std::shared_ptr<const void> companion) const {
    using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
    const void* const owner = owner_.get();  // which intact_ asks
    return {std::shared_ptr<const void>(std::make_shared<const Both>(std::move(companion), owner_), owner),
            view_, intact_};
  }

  // False if somebody changed the file they are mapped from (guarded_mapping.hpp): what was made of them is
  // void.
  bool intact() const { return intact_ == nullptr || intact_(owner_.get()); }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> view_;
  bool (*intact_)(const void* owner) = nullptr;
};

}  // namespace annulus
