// What bounds the axes of a plan: the range asked for, or the extent of the detector's pixels.
#pragma once

#include <annulus/plan/integration_options.hpp>
#include <annulus/plan/pixel_positions.hpp>

#include <cstdint>
#include <vector>

namespace annulus {

// Equal bins, of the radius in its base unit or of the azimuth in radian.
struct BinAxis {
  double low = 0;
  double high = 0;  // the range asked for or found, widened so that its last point falls inside
  std::uint32_t bins = 0;
  // Of azimuths: pixels lie on the cut, so what leaves the axis at one end comes in at the other, if it is
  // there.
  bool closed = false;

  double width() const { return (high - low) / bins; }
  double bin_of(double value) const { return (value - low) / width(); }
};

// Azimuths that count, in radian. Azimuths jump by a turn at `cut`, which lies outside the window: at -pi if
// that is possible, else at 0, else in the middle of what the window leaves out.
struct AzimuthWindow {
  double low = 0;
  double high = 0;
  double cut = kDefaultCut;

  // Whether a part of the pixel lies inside, on whichever side of the cut the pixel's azimuths are. A pixel
  // that only shares an edge with the window is outside, and rounding has no say in it.
  bool meets(Range azimuths) const;
};

// Each end is taken modulo a turn; high below low goes on through the +-180 degree line. The low end is in
// [first, first + a turn), and the cut at `first` if that is possible.
// Throws kPlan for an empty window or one wider than a turn.
AzimuthWindow azimuth_window(Range degrees, double first = kDefaultCut);

// The radial range of all pixels that `excluded` lets through, as the splitting sees them.
// `excluded` has one byte per pixel. Throws kPlan if no pixel is left.
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
