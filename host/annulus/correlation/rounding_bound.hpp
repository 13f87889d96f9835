// How far the sums of a group of images, computed in double precision, can be from the integers that they
// are. docs/correlation.md derives it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace annulus {

class RoundingBound {
 public:
  explicit RoundingBound(std::size_t angles);

  // Of every sum, before it is rounded. energy: the largest sum of squares, over the images, of a ring.
  double error(std::uint64_t energy, std::uint64_t images) const;

  // What is allowed: sums are rounded to the right integer below 0.5, and a fifth of that is kept as a
  // margin.
  static constexpr double kMost = 0.4;
  bool allows(std::uint64_t energy, std::uint64_t images) const { return error(energy, images) <= kMost; }

 private:
  double transform_;  // the relative error of a Fourier transform
};

}  // namespace annulus
