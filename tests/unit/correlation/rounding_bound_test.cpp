#include <annulus/correlation/frequency_sums.hpp>
#include <annulus/correlation/image_stage.hpp>
#include <annulus/correlation/rounding_bound.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "correlation/direct_sums.hpp"

namespace annulus {
namespace {

// The largest distance of unrounded sums from what they are.
double largest_error(const PolarShape& shape, const Images& images, const CorrelationSums& exact,
                     std::size_t block) {
  FrequencySums<double> sums(shape, block, 1);
  for (std::size_t first = 0; first < images.size(); first += block * shape.values()) {
    sums.add(std::span(images).subspan(first, std::min(block * shape.values(), images.size() - first)));
  }
  long double largest = 0;
  sums.drain([&](std::size_t first, std::span<const double> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const long double sum = values[i] * (1.0 / static_cast<double>(shape.angles));
      largest = std::max(largest, std::abs(sum - static_cast<long double>(exact.signal[first + i])));
    }
  });
  return static_cast<double>(largest);
}

std::uint64_t largest_energy(const PolarShape& shape, const Images& images) {
  std::uint64_t largest = 0;
  for (std::size_t q = 0; q < shape.rings; ++q) {
    std::uint64_t energy = 0;
    for (std::size_t first = q * shape.angles; first < images.size(); first += shape.values()) {
      energy += energy_of(std::span(images).subspan(first, shape.angles));
    }
    largest = std::max(largest, energy);
  }
  return largest;
}

constexpr std::size_t kImages = 12;

TEST(RoundingBound, IsAboveTheErrorsOfImages) {
  for (const std::size_t angles : {256, 255, 251, 360, 64, 77, 97, 500, 509, 512}) {
    const PolarShape shape{2, angles};
    const Images random = random_images(shape, kImages, 1);
    Images constant(shape.values() * kImages, 32767);
    Images alternating = constant;
    for (std::size_t i = 0; i < constant.size(); ++i) alternating[i] = i % 2 == 0 ? 32767 : -32768;
    Images slanted = constant;
    for (std::size_t i = 0; i < constant.size(); ++i) {
      slanted[i] = static_cast<std::int16_t>(static_cast<int>(i % angles * 65535 / angles) - 32768);
    }
    for (const Images& images : {random, constant, alternating, slanted}) {
      const CorrelationSums exact = direct_sums(shape, images);
      const double bound = RoundingBound(angles).error(largest_energy(shape, images), kImages);
      for (const std::size_t block : {std::size_t{1}, kImages}) {
        const double found = largest_error(shape, images, exact, block);
        EXPECT_LT(found, bound) << angles << " angles, block " << block;
      }
    }
    // Not by chance: there are errors, of random values at least.
    EXPECT_GT(largest_error(shape, random, direct_sums(shape, random), kImages), 0) << angles;
  }
}

TEST(RoundingBound, GrowsWithEnergyAndImages) {
  const RoundingBound bound(256);
  EXPECT_LT(bound.error(1000000, 10), bound.error(2000000, 10));
  EXPECT_LT(bound.error(1000000, 10), bound.error(1000000, 20));
  EXPECT_LT(RoundingBound(256).error(1000000, 10), RoundingBound(257).error(1000000, 10));
  // 256 angles of the largest values, as docs/correlation.md says.
  const auto full = [&](std::uint64_t images) { return bound.allows(images * 256 * 32768 * 32768, images); };
  EXPECT_TRUE(full(44));
  EXPECT_FALSE(full(45));
}

TEST(Energy, IsExactForTheLargestValues) {
  for (const std::size_t size : {1, 2, 3, 8, 65536}) {
    EXPECT_EQ(energy_of(std::vector<std::int16_t>(size, -32768)), size << 30U);
  }
  EXPECT_EQ(energy_of(std::vector<std::int16_t>{1, -2, 3}), 14U);
}

}  // namespace
}  // namespace annulus
