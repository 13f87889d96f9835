// How the area of one pixel is shared out over bins (docs/concepts.md shows the three ways).
#pragma once

#include <annulus/plan/options.hpp>
#include <annulus/plan/pixel_positions.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace annulus {

// Equal bins, of the radius in its base unit or of the azimuth in radian.
struct BinAxis {
  double low = 0;
  double high = 0;  // the range asked for or found, widened so that its last point falls inside
  std::uint32_t bins = 0;

  double width() const { return (high - low) / bins; }
  double bin_of(double value) const { return (value - low) / width(); }
};

// Azimuths that count, in radian. Azimuths jump by a turn at `cut`, which lies outside the window: at -pi if
// that is possible, else at 0, else in the middle of what the window leaves out.
struct AzimuthWindow {
  double low = 0;
  double high = 0;
  double cut = kDefaultCut;
};

// Each end is taken modulo a turn; high below low goes on through the +-180 degree line. The low end is in
// [first, first + a turn), and the cut at `first` if that is possible.
// Throws kPlan for an empty window or one wider than a turn.
AzimuthWindow azimuth_window(Range degrees, double first = kDefaultCut);

struct Share {
  std::uint32_t bin = 0;
  double share = 0;
};

// Shares of [low, high], in units of bins, added to `shares`: they sum to 1, or there are none if nothing of
// it is on the axis. What hangs over the ends of the axis goes to the end bins, so that a pixel that is seen
// at all counts whole.
void share_interval(double low, double high, std::uint32_t bins, std::vector<Share>& shares);

// How many shares share_interval adds, or one more.
std::uint64_t touched_bins(double low, double high, std::uint32_t bins);

// Over radial bins.
class PixelSplitter {
 public:
  PixelSplitter(const PixelPositions& positions, const BinAxis& axis, Splitting splitting,
                std::optional<AzimuthWindow> window);

  // The pixel's shares in ascending bins: all positive, sum 1; none if it is out of range.
  void split(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const;

  // A bound of their number that is quickly found.
  std::uint64_t most_shares(std::uint32_t row, std::uint32_t col) const;

 private:
  void split_centre(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const;
  void split_bounding_box(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const;
  void split_full(std::uint32_t row, std::uint32_t col, std::vector<Share>& shares) const;

  const PixelPositions& positions_;
  BinAxis axis_;
  Splitting splitting_;
  std::optional<AzimuthWindow> window_;
  double width_;
};

// The radial range of all pixels that `excluded` lets through, as the splitting sees them.
// `excluded` has one byte a pixel. Throws kPlan if no pixel is left.
Range radial_extent(const PixelPositions& positions, Splitting splitting,
                    const std::vector<std::uint8_t>& excluded, unsigned threads);

// The azimuths of the same pixels, within the turn that begins at the cut, and whether one lies on the cut.
struct AzimuthExtent {
  Range range;
  bool on_cut = false;
};
AzimuthExtent azimuth_extent(const PixelPositions& positions, Splitting splitting,
                             const std::vector<std::uint8_t>& excluded, unsigned threads);

}  // namespace annulus
