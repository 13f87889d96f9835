// Random images, and correlations by the definition.
#pragma once

#include <annulus/correlation/correlation_sums.hpp>

#include <cstdint>
#include <random>
#include <vector>

namespace annulus {

using Images = std::vector<std::int16_t>;  // [image][q][phi]
using Masks = std::vector<std::uint8_t>;

inline Images random_images(const PolarShape& shape, std::size_t count, unsigned seed, int least = -32768,
                            int most = 32767) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> value(least, most);
  Images images(shape.values() * count);
  for (std::int16_t& each : images) each = static_cast<std::int16_t>(value(random));
  return images;
}

inline Masks random_masks(const PolarShape& shape, std::size_t count, unsigned seed, double masked) {
  std::mt19937 random(seed);
  std::bernoulli_distribution is_masked(masked);
  Masks masks(shape.values() * count);
  for (std::uint8_t& each : masks) each = is_masked(random) ? 0 : 1;
  return masks;
}

// masks: of each image.
inline CorrelationSums direct_sums(const PolarShape& shape, const Images& images, const Masks& masks,
                                   int scale = 0) {
  CorrelationSums sums(shape, scale);
  sums.images = images.size() / shape.values();
  const std::size_t angles = shape.angles;
  for (std::size_t image = 0; image < sums.images; ++image) {
    for (std::size_t q = 0; q < shape.rings; ++q) {
      for (std::size_t other = q; other < shape.rings; ++other) {
        for (std::size_t d = 0; d < angles; ++d) {
          const std::size_t place = shape.pair(q, other) * angles + d;
          for (std::size_t phi = 0; phi < angles; ++phi) {
            const std::size_t a = image * shape.values() + q * angles + phi;
            const std::size_t b = image * shape.values() + other * angles + (phi + d) % angles;
            if (masks[a] == 0 || masks[b] == 0) continue;
            sums.signal[place] += std::int64_t{images[a]} * images[b];
            ++sums.mask[place];
          }
        }
      }
    }
  }
  return sums;
}

inline CorrelationSums direct_sums(const PolarShape& shape, const Images& images) {
  return direct_sums(shape, images, Masks(images.size(), 1));
}

}  // namespace annulus
