// Legendre coefficients of a correlation, the first step from it to the structure of a particle:
//
//   C2(q, q', d) = 1 / (4 pi) sum over l of B_l(q, q') P_l(cos psi)
//   cos psi = cos theta cos theta' + sin theta sin theta' cos d,   theta = pi / 2 - asin(q wavelength / (4
//   pi))
//
// psi is the angle between the two points of the Ewald sphere; with a wavelength of 0 the sphere is a plane
// and psi is d. B_l are those with the least squares of the differences over all d whose C2 is a number.
#pragma once

#include <annulus/core/large_vector.hpp>
#include <annulus/correlation/polar_image.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace annulus {

struct LegendreOptions {
  std::size_t highest = 20;  // the largest l
  bool even_only = true;     // odd l vanish for particles in all orientations, by Friedel's law
  double wavelength = 0;     // in the reciprocal unit of q
  std::vector<double> q;     // of each ring; may be empty if the wavelength is 0
  unsigned threads = 0;
};

struct LegendreCoefficients {
  std::vector<std::size_t> orders;  // l
  // [q][q' >= q][order]. NaN where the angles do not determine them.
  LargeVector<double> values;
  // [q][q' >= q]: the ratio of the largest to the smallest singular value of the P_l, by which relative
  // errors may grow; infinite where the angles do not determine the coefficients.
  LargeVector<double> conditions;
};

// Throws kUsage for options that make no sense: what legendre_coefficients() does, before there is a C2.
void check_legendre(const PolarShape& shape, const LegendreOptions& options);

// Of C2 [q][q' >= q][d]. Throws kUsage for options that make no sense, kInput for another number of values.
LegendreCoefficients legendre_coefficients(const PolarShape& shape, std::span<const double> correlation,
                                           const LegendreOptions& options);

}  // namespace annulus
