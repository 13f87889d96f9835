#include <annulus/ranks/guided_blocks.hpp>

#include <algorithm>

namespace annulus {
namespace {

// Of what is left, each rank gets this part of its share at once.
constexpr std::uint64_t kPartOfShare = 16;
constexpr std::uint64_t kSmallest = 8;  // about what a backend takes at once
constexpr std::uint64_t kLargest = 1000;
constexpr std::uint64_t kOfUnknown = 32;  // where nobody knows how many there will be

}  // namespace

FrameRange GuidedBlocks::next() {
  std::uint64_t size = kOfUnknown;
  if (expected_ > 0) {
    // The number expected may be a guess, and more may come.
    const std::uint64_t left = expected_ > dealt_ ? expected_ - dealt_ : 0;
    size = std::clamp(left / (kPartOfShare * ranks_), kSmallest, kLargest);
  }
  const FrameRange block{dealt_, dealt_ + size};
  dealt_ = block.end;
  return block;
}

}  // namespace annulus
