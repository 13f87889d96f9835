// The scattering of a particle as it lies, at many points of reciprocal space.
#pragma once

#include <tools/simulate/particle.hpp>
#include <tools/simulate/poisson.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace annulus {

// A rotation, as a quaternion of length 1.
struct Orientation {
  double w = 1;
  double x = 0;
  double y = 0;
  double z = 0;
};

// All orientations are equally likely.
Orientation random_orientation(CounterRandom& random);
Particle turned(const Particle& particle, const Orientation& orientation);

// Points in nm^-1: x and y across the beam, z along it. A structure of arrays, for loops over many.
struct ScatteringVectors {
  std::vector<double> x, y, z;

  std::size_t size() const { return x.size(); }
  void resize(std::size_t count);
  double length(std::size_t i) const;
};

class ParticleIntensity {
 public:
  ParticleIntensity(Particle particle, ScatteringVectors vectors, unsigned threads);

  const ScatteringVectors& vectors() const { return vectors_; }

  // Adds the intensity of the particle in an orientation at every vector. The same numbers on every machine.
  void add(const Orientation& orientation, std::span<double> intensities) const;

 private:
  Particle particle_;
  ScatteringVectors vectors_;
  std::vector<std::size_t> of_width_;             // of each Gaussian, in form_factors_
  std::vector<std::vector<float>> form_factors_;  // exp(-width^2 q^2 / 2) at every vector
};

}  // namespace annulus
