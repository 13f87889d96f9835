// How large the blocks are in which a scan is dealt: large at first, so that ranks seldom have to ask, and
// small at the end, so that none has long to do when the others are done.
#pragma once

#include <annulus/sources/frame_dealer.hpp>

#include <cstdint>

namespace annulus {

class GuidedBlocks {
 public:
  // `expected` frames, 0 if nobody knows, for so many ranks.
  GuidedBlocks(std::uint64_t expected, unsigned ranks) : expected_(expected), ranks_(ranks) {}

  // The next block of the scan. There is always one: where the scan ends, those who read it know.
  FrameRange next();

 private:
  std::uint64_t expected_;
  unsigned ranks_;
  std::uint64_t dealt_ = 0;
};

}  // namespace annulus
