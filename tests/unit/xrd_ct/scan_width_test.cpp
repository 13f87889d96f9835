#include <annulus/xrd_ct/scan_width.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace annulus {
namespace {

struct Disc {
  double x, y, radius;  // in steps
};

// Of a disc about the axis of radius 8, and another one; the scan reaches 15 steps to either side.
Sinogram scanned(const Disc& second, std::size_t angles, double noise, double fading = 0) {
  Sinogram sinogram(angles, 31, 1);
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, noise);
  for (std::size_t i = 0; i < angles; ++i) {
    const double a = std::numbers::pi * static_cast<double>(i) / static_cast<double>(angles);
    for (std::size_t p = 0; p < 31; ++p) {
      const double t = static_cast<double>(p) - 15;
      const auto chord = [&](const Disc& disc) {
        const double d = t - disc.x * std::cos(a) + disc.y * std::sin(a);
        return 2 * std::sqrt(std::max(0.0, disc.radius * disc.radius - d * d));
      };
      const double strength = 1 - fading * static_cast<double>(i) / static_cast<double>(angles);
      *sinogram.at(i, p) =
          static_cast<float>(strength * (10 + chord({0, 0, 8}) + chord(second)) + normal(random));
    }
  }
  return sinogram;
}

bool leaves_scan(const Sinogram& totals) {
  const LeavesScan leaves = sample_leaves_scan(totals);
  return leaves.at_first || leaves.at_last;
}

TEST(ScanWidth, ASampleWithinTheScanIsNotSaidToLeaveIt) {
  for (const std::size_t angles : {10U, 45U, 181U, 1000U}) {
    for (const double noise : {0.0, 0.01, 0.3, 3.0}) {
      EXPECT_FALSE(leaves_scan(scanned({9, 3, 4}, angles, noise))) << angles << ' ' << noise;
      EXPECT_FALSE(leaves_scan(scanned({9, 3, 4}, angles, noise, 0.5))) << angles << ' ' << noise;
    }
  }
}

TEST(ScanWidth, ASingleOutlierIsNoSample) {
  Sinogram sinogram = scanned({0, 0, 4}, 90, 0.1);
  *sinogram.at(30, 0) += 20;
  EXPECT_FALSE(leaves_scan(sinogram));
}

TEST(ScanWidth, ASampleThatGoesBeyondTheOutermostPositionLeavesTheScan) {
  for (const std::size_t angles : {12U, 45U, 181U}) {
    for (const double noise : {0.0, 0.05, 0.3}) {
      EXPECT_TRUE(leaves_scan(scanned({14, 3, 4}, angles, noise))) << angles << ' ' << noise;
      EXPECT_TRUE(leaves_scan(scanned({-10, 8, 5}, angles, noise, 0.3))) << angles << ' ' << noise;
    }
  }
}

TEST(ScanWidth, SaysAtWhichEnd) {
  // In half a turn this disc goes from the last position through the middle; it begins beyond the last one.
  const LeavesScan leaves = sample_leaves_scan(scanned({10, -10, 4}, 60, 0.1));
  EXPECT_FALSE(leaves.at_first);
  EXPECT_TRUE(leaves.at_last);
}

}  // namespace
}  // namespace annulus
