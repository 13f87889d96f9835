// The blocks that a dealer gave us and that are still ahead. Nobody else holds this lock: the owner does.
#pragma once

#include <annulus/sources/frame_dealer.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace annulus {

class DealtBlocks {
 public:
  enum class Owner { kUs, kOthers, kNotKnownYet };

  explicit DealtBlocks(std::shared_ptr<FrameDealer> dealer) : dealer_(std::move(dealer)) {}

  // Of a place that is not behind us.
  Owner owner_of(std::uint64_t place) const;

  // The first place from this one on that is ours, or of which nobody knows yet whose it is.
  std::uint64_t skip_others(std::uint64_t place) const;

  // There will be no more frames of ours from this place on.
  bool ended(std::uint64_t place) const { return last_was_given_ && place >= last_end_; }

  // We have no frame to go on with from this place, as far as we know.
  bool has_none(std::uint64_t place) const { return !last_was_given_ && place >= last_end_; }

  // Places before this one are behind us. Whether a block is that was not before.
  bool pass(std::uint64_t place);

  // Whether it is time for the next block. Where others may get what we do not take, we have at most two in
  // work: the next is asked for when there is as much left to do as the last one was. `in_work`: frames of
  // ours that were read, or are being read, and are not reduced yet.
  bool should_ask(std::uint64_t place, std::uint64_t in_work) const;

  // Asking may wait, and is done without the owner's lock, by one thread at a time: begin_asking(), ask(),
  // and take() what it gave.
  void begin_asking() { asking_ = true; }
  std::optional<FrameRange> ask() { return dealer_->next(); }
  void take(std::optional<FrameRange> block);

 private:
  std::shared_ptr<FrameDealer> dealer_;
  std::deque<FrameRange> blocks_;  // in the order of places, none is empty
  std::uint64_t last_size_ = 0;    // of the last block; 0: there was none
  std::uint64_t last_end_ = 0;     // of all blocks so far
  bool last_was_given_ = false;
  bool asking_ = false;
};

}  // namespace annulus
