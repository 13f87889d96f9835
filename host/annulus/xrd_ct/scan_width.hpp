// Whether the sample lies within the scan at every angle.
#pragma once

#include <annulus/tomography/sinogram.hpp>

namespace annulus {

// At the outermost positions of a scan that is wide enough there is air, the same at all angles. The sample
// leaves the scan where one of them changes with the angle by more than kEdgeNoise standard deviations of its
// noise and by more than kEdgeContrast of the sample's own contrast. A projection is taken relative to its
// mean, so that a beam that fades changes nothing; single outliers do not count. `totals` has one bin and no
// gaps, and its projections are sorted by angle. Below kEdgeAngles projections nothing can be said.
inline constexpr double kEdgeNoise = 6;
inline constexpr double kEdgeContrast = 0.05;
inline constexpr std::size_t kEdgeAngles = 8;

struct LeavesScan {
  bool at_first = false, at_last = false;  // position
};
LeavesScan sample_leaves_scan(const Sinogram& totals);

}  // namespace annulus
