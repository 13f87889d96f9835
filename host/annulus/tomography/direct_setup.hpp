// What the direct method knows before it sees a sinogram: the same for loops of the CPU and for OpenCL
// devices.
#pragma once

#include <annulus/tomography/filtered_back_projection.hpp>
#include <annulus/tomography/tiles.hpp>

#include <cstddef>
#include <functional>
#include <vector>

namespace annulus {

// A filter in real space: taps[d] for distances from -reach to reach.
class Taps {
 public:
  Taps(std::size_t reach, const std::function<double(std::ptrdiff_t distance)>& tap);

  // Into memory of that size. Returns the one of distance 0.
  const float* scaled(double factor, std::vector<float>& into) const;

 private:
  std::size_t reach_;
  std::vector<double> values_;
};

struct DirectSetup {
  DirectSetup(const ScanGeometry& scan, const FbpOptions& options, std::size_t size);

  // Filtered values of a projection.
  std::size_t projection_count() const { return range.count * taps.size(); }

  bool band_limited;
  bool odd_taps;  // besides the tap of distance 0 only those of odd distance are not 0
  ProjectionRange range;
  std::size_t reach;
  Turns turns;
  std::vector<double> weights;  // of the angles
  std::vector<Taps> taps;       // for each of the places that are computed between a position and the next
  std::vector<float> kernel;    // for band-limited interpolation: a table of a GriddingKernel of kBandTaps
};

}  // namespace annulus
