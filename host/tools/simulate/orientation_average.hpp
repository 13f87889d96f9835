// What snapshots of a particle show on average over all orientations, in closed form: no particle is turned
// for it.
//
// The intensity of Gaussians is a sum over pairs of them, I(q) = sum of a_p(|q|) cos(q . r_p) with r_p the
// vector from one to the other. Plane waves as sums of spherical waves, and rotations that leave only equal
// orders, give
//
//   <I(q) I(q')> = 1 / (4 pi) sum over l of B_l(|q|, |q'|) P_l(cos psi),   psi the angle between q and q'
//   B_l(q, q')   = 4 pi (2 l + 1) sum over p, p' of a_p(q) a_p'(q') j_l(q r_p) j_l(q' r_p') P_l(r_p . r_p' /
//   r r')
//
// for even l, and 0 for odd l. j_l are spherical Bessel functions.
#pragma once

#include <tools/simulate/particle.hpp>

#include <cstddef>
#include <vector>

namespace annulus {

// j_0 to j_highest at x >= 0, to about 1e-14.
std::vector<double> spherical_bessel(std::size_t highest, double x);

// The mean intensity at q (nm^-1) of one particle: Debye's formula.
double mean_intensity(const Particle& particle, double q);

class OrientationAverage {
 public:
  static constexpr double kLargestProduct = 300;

  // Of one particle at rings of these q (nm^-1). Throws kUsage if the largest q times the extent of the
  // particle is beyond kLargestProduct: this takes more orders than is reasonable.
  OrientationAverage(const Particle& particle, std::vector<double> q, unsigned threads);

  // l = 0, 2, 4 ... until what follows is below 1e-16 of the whole.
  const std::vector<std::size_t>& orders() const { return orders_; }
  // B_l, [q][q' >= q][order].
  const std::vector<double>& legendre() const { return legendre_; }

  // <I(q, phi) I(q', phi + d)> on the Ewald sphere of a wavelength (nm), or on a plane if it is 0, for angles
  // d in equal steps over a full turn: [q][q' >= q][d].
  std::vector<double> correlation(std::size_t angles, double wavelength) const;

 private:
  std::vector<double> q_;
  unsigned threads_;
  std::vector<std::size_t> orders_;
  std::vector<double> legendre_;
};

}  // namespace annulus
