// What is done to a sinogram before it is reconstructed: missing cells, air, stripes. Every bin by itself.
#pragma once

#include <annulus/tomography/sinogram.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace annulus {

struct FilledCells {
  std::size_t cells = 0;                // that were filled
  std::vector<std::size_t> empty_bins;  // without a value anywhere: all of their cells are now 0
};

// Cells that are missing (NaN) are interpolated linearly along the translation between the nearest ones that
// are not; beyond the outermost of these, they get its value. Throws kInput for a projection that has no
// value in a bin in which others have: it belongs out of the scan.
FilledCells fill_missing(Sinogram& sinogram, unsigned threads = 0);

enum class AirUse {
  // The scattering of air: a line between the means of the outermost positions on the left and on the right
  // is
  // subtracted from a projection, in every bin.
  kSubtract,
  // The strength of the beam: a projection is multiplied, in all bins, so that its air, summed over all bins,
  // is the
  // mean of all projections'.
  kScale
};

// By which each projection is to be multiplied for that. Of `degrees`, if they are given, a message names the
// projection that has no air. Throws as normalise_by_air() does.
std::vector<double> air_factors(const Sinogram& sinogram, std::size_t outermost,
                                std::span<const double> degrees = {});

// `outermost`: so many positions on either side saw only air. Throws kUsage if that is none or more than all,
// kInput if air is to scale and a projection has none.
void normalise_by_air(Sinogram& sinogram, AirUse use, std::size_t outermost);

struct StripeOptions {
  std::size_t width = 2;  // positions, at most
  double threshold = 4;   // standard deviations of the roughness
  unsigned threads = 0;
};

// A position that deviates in the same way at all angles makes a ring. In the mean of all projections the
// sample is smooth, since its features move on from angle to angle, and a stripe is not. The roughness of
// this mean is what a value has more than a cubic through its two neighbours on either side. A stripe of one
// or two positions makes a known pattern of roughness. It is found by least squares, and is a stripe if it is
// high (`threshold` standard deviations, robustly from the median) and explains 95 % of the roughness around
// it: the edge of a round thing about the axis is rough as well, but in another way. The clearest is
// subtracted from all angles, until none is left. Other positions keep their bytes. Returns how many stripes
// there were, summed over the bins. Cells must be finite.
std::size_t suppress_stripes(Sinogram& sinogram, const StripeOptions& options = {});

}  // namespace annulus
