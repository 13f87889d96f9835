// Where the axis of rotation is, found in the sinogram itself.
//
// Half a turn apart, a projection is the mirror image of another: the axis is where the one least deviates
// from the flipped other (`from_pair`). Of all projections together, the centre of mass goes along a sinusoid
// about the axis
// (`from_sinogram`). For both, the sample must lie within the scan at every angle; what is left at the
// outermost positions counts as background.
#pragma once

#include <annulus/tomography/sinogram.hpp>

#include <optional>
#include <span>

namespace annulus {

struct AxisEstimate {
  double position;
  double uncertainty;  // one standard deviation, in steps; the difference of the two, if that is significant
};

struct RotationAxis {
  AxisEstimate best;                      // the one of least uncertainty
  std::optional<AxisEstimate> from_pair;  // none if no two angles are half a turn apart, to within 2 degrees
  std::optional<AxisEstimate> from_sinogram;  // none if angles are too few, or masses not positive
};

// Of the sum of all bins that are given. Throws kInput that says why the axis cannot be found, to within one
// step.
RotationAxis find_rotation_axis(const SinogramView& sinogram, std::span<const double> angles);

}  // namespace annulus
