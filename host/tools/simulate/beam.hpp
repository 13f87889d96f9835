// The beam of the simulated source.
#pragma once

#include <tools/simulate/poisson.hpp>

#include <cstdint>

namespace annulus {

// Its intensity during a frame, 1 at its highest. The stored beam decays until the next top-up, by
// `variation`, and flickers a little.
inline double beam_intensity(double variation, std::uint64_t seed, std::uint64_t frame) {
  constexpr std::uint64_t kTopUpFrames = 40;
  const double decay = static_cast<double>(frame % kTopUpFrames) / kTopUpFrames;
  CounterRandom random(CounterRandom::key(seed, frame), ~std::uint64_t{0});
  return 1 - variation * (0.9 * decay + 0.1 * random.uniform());
}

}  // namespace annulus
