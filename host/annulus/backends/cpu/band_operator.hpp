// What the CPU does with decoded pixels, band by band, of frames that are reduced side by side.
//
// LaneSums adds the pixels to the sums of their bins, in one pass. RobustSums does what takes squares of
// pixels and clips in several passes, RankSums medians and quantiles. A recipe of n passes decodes its frames
// n times, and no decoded frame is ever kept.
//
// The reducer calls an operator once per band and group of frames, so what is virtual costs nothing.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/plan/sums.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace annulus {

class BandOperator {
 public:
  virtual ~BandOperator() = default;

  // New frames, one for each of the first lanes; then all bands follow, in order.
  virtual void begin(std::span<const Frame* const> frames) = 0;

  // values[pixel * lanes + lane] for kBandPixels + 1 pixels, the last 0; of uint32 frames the same bits.
  // Lanes without a frame, or with one that could not be decoded, hold zeros; what is beyond the last pixel
  // of a frame means nothing. It may change them.
  virtual void add_band(std::size_t band, std::int32_t* values) = 0;

  // After the last band: whether it wants to see all bands of the same frames once more.
  virtual bool again() = 0;

  // After the last pass: the sums of the frames in their order.
  virtual std::vector<Sums> take() = 0;
};

}  // namespace annulus
