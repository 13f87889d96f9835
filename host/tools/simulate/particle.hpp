// A particle of Gaussian blobs, of which everything about its scattering is known in closed form.
//
// Its amplitude is  A(q) = sum over k of weight_k exp(-width_k^2 q^2 / 2) exp(i q . r_k),  its intensity
// |A|^2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

struct Gaussian {
  double x = 0;  // nanometre
  double y = 0;
  double z = 0;
  double width = 0;   // nanometre, standard deviation of the density
  double weight = 1;  // negative ones are holes in the solvent
};

using Particle = std::vector<Gaussian>;

inline constexpr std::size_t kMostGaussians = 32;

// By its name. "random" depends on the seed, "empty" has no Gaussian. Throws kUsage with the names that there
// are.
Particle particle_from_name(std::string_view name, std::uint64_t seed);
std::string known_particles();

// "1.5,0,-2,0.6" or "1.5,0,-2,0.6,2": x, y, z, width, and weight (1 if not given). Throws kUsage.
Gaussian gaussian_from_text(const std::string& text);

// Throws kUsage for a particle without scattering, with too many Gaussians, or with numbers that make no
// sense.
void check(const Particle& particle);

// The longest distance between two of its Gaussians, in nanometres.
double extent_of(const Particle& particle);

}  // namespace annulus
