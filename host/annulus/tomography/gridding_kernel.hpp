// A short function that interpolates between the points of a grid as a band-limited function would: exp(b
// sqrt(1 - (2u/width)^2) - b) for |u| < width / 2, "exponential of a semicircle".
//
// On a grid that is `oversampling` times finer than the band needs, the error is about
// exp(-pi width sqrt(1 - 1 / oversampling)), relative to what is interpolated. For that, amplitudes are
// divided by the function's own spectrum before (docs/tomography.md).
#pragma once

#include <cstddef>
#include <vector>

namespace annulus {

class GriddingKernel {
 public:
  // width: even, of points of the grid.
  GriddingKernel(std::size_t width, double oversampling);

  double value(double u) const;
  // The integral of value(u) cos(2 pi u f), f in cycles per point of the grid.
  double spectrum(double f) const;

  // Where a place lies between two points, in steps of 1 / kSteps from 0 to 1, the values at the `width`
  // points around it: [kSteps + 1][width].
  static constexpr std::size_t kSteps = 2048;
  std::vector<float> table() const;

 private:
  double width_, exponent_;
};

}  // namespace annulus
