#include <annulus/core/error.hpp>
#include <annulus/sources/dealt_blocks.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace annulus {
namespace {

constexpr std::size_t kBlocksAhead = 2;

}  // namespace

DealtBlocks::Owner DealtBlocks::owner_of(std::uint64_t place) const {
  for (const FrameRange& block : blocks_) {
    if (place < block.first) return Owner::kOthers;
    if (place < block.end) return Owner::kUs;
  }
  return last_was_given_ || place < last_end_ ? Owner::kOthers : Owner::kNotKnownYet;
}

std::uint64_t DealtBlocks::skip_others(std::uint64_t place) const {
  for (const FrameRange& block : blocks_) {
    if (place < block.end) return std::max(place, block.first);
  }
  return std::max(place, last_end_);
}

bool DealtBlocks::pass(std::uint64_t place) {
  const std::size_t before = blocks_.size();
  while (!blocks_.empty() && blocks_.front().end <= place) blocks_.pop_front();
  return blocks_.size() < before;
}

bool DealtBlocks::should_ask(std::uint64_t place, std::uint64_t in_work) const {
  if (asking_ || last_was_given_ || blocks_.size() >= kBlocksAhead) return false;
  if (dealer_->is_fixed() || last_size_ == 0) return true;
  std::uint64_t left = in_work;
  for (const FrameRange& block : blocks_) left += block.end - std::clamp(place, block.first, block.end);
  return left <= last_size_;
}

void DealtBlocks::take(std::optional<FrameRange> block) {
  asking_ = false;
  if (!block) {
    last_was_given_ = true;
    return;
  }
  if (block->first < last_end_ || block->end < block->first) {
    throw Error(ErrorKind::kUsage, "frames",
                fmt::format("the frames {} to {} were dealt after those before {}", block->first, block->end,
                            last_end_),
                "a dealer gives blocks in the order of the scan");
  }
  last_end_ = block->end;
  if (block->first == block->end) return;
  last_size_ = block->end - block->first;
  blocks_.push_back(*block);
}

}  // namespace annulus
