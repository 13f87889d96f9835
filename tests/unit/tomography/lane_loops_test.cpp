#include <annulus/tomography/lane_loops.hpp>
#include <annulus/tomography/software_fma.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "phantom.hpp"

namespace annulus {
namespace {

// Floats of all sizes, whole numbers among them, so that sums cancel and halves are met.
float any_float(Noise& noise) {
  const double kind = noise();
  const double value = noise() - 0.5;
  if (kind < 0.3) return static_cast<float>(std::floor(value * 4096));
  if (kind < 0.6) return static_cast<float>(value);
  return static_cast<float>(std::ldexp(value, static_cast<int>(noise() * 290) - 150));
}

TEST(SoftwareFma, RoundsOnce) {
  Noise noise(7);
  for (int i = 0; i < 2'000'000; ++i) {
    const float a = any_float(noise), b = any_float(noise);
    // Often just beside what is lost when a product is rounded.
    const float c = noise() < 0.5 ? any_float(noise) : -a * b * (noise() < 0.5 ? 1.0F : 0.99999994F);
    const float expected = std::fma(a, b, c), found = software_fma(a, b, c);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected))
        << a << " * " << b << " + " << c << " is " << expected << ", found " << found;
  }
}

TEST(SoftwareFma, KnowsHalves) {
  // 1 + 2^-24 is half way to the next float: a little more or less decides.
  const float half = std::ldexp(1.0F, -24), little = std::ldexp(1.0F, -70);
  EXPECT_EQ(software_fma(half, 1, 1), 1.0F);
  EXPECT_EQ(software_fma(half + std::ldexp(1.0F, -47), 1, 1), std::nextafter(1.0F, 2.0F));
  EXPECT_EQ(software_fma(little, little, 1), 1.0F);
  // A double cannot hold that the product is 2^-64 less than half way, and would round to the even neighbour.
  const float next = std::nextafter(1.0F, 2.0F), part = std::ldexp(1.0F, -20);
  EXPECT_EQ(software_fma(half * (1 + part), 1 - part, next), next);
  EXPECT_EQ(software_fma(-half * (1 + part), 1 - part, -next), -next);
  EXPECT_TRUE(std::isnan(software_fma(std::nanf(""), 1, 1)));
  EXPECT_EQ(software_fma(3e38F, 10, 0), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace annulus
