#include <annulus/tomography/angle_weights.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "phantom.hpp"

namespace annulus {
namespace {

TEST(AngleWeights, AddUpToAHalfTurn) {
  Noise noise(3);
  std::vector<double> angles(97);
  for (double& angle : angles) angle = 20 * noise() - 10;
  const AngleWeights weights = weigh_angles(angles, AngleWeighting::kSpacing);
  EXPECT_NEAR(weights.covered, std::numbers::pi, 1e-9);
  // Two of one direction share what one of them has alone.
  angles.push_back(angles[5] + 3 * std::numbers::pi);
  const AngleWeights shared = weigh_angles(angles, AngleWeighting::kSpacing);
  EXPECT_NEAR(shared.weights[5], weights.weights[5] / 2, 1e-12);
  EXPECT_NEAR(shared.weights.back(), weights.weights[5] / 2, 1e-12);
}

std::vector<double> degrees_in_steps(double first, double step, int number) {
  std::vector<double> degrees;
  for (int i = 0; i < number; ++i) degrees.push_back(first + step * i);
  return degrees;
}

std::vector<double> with_noise(std::vector<double> degrees) {
  Noise noise(11);
  for (double& angle : degrees) angle += 0.005 * noise();
  return degrees;
}

std::vector<double> joined(std::vector<double> some, const std::vector<double>& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
}

// Of each direction half the way to the nearest on either side of the half circle, by comparing all with all.
std::vector<double> half_ways(const std::vector<double>& degrees) {
  constexpr double kSame = 1e-6 * 180 / std::numbers::pi;
  std::vector<double> result;
  for (const double angle : degrees) {
    double before = 180, after = 180;
    for (const double other : degrees) {
      const double ahead = std::remainder(other - angle, 180);
      for (const double distance : {ahead - 180, ahead, ahead + 180}) {
        if (distance > kSame) after = std::min(after, distance);
        if (distance < -kSame) before = std::min(before, -distance);
      }
    }
    const auto same = std::ranges::count_if(
        degrees, [&](double other) { return std::abs(std::remainder(other - angle, 180)) <= kSame; });
    result.push_back((before + after) / 2 / static_cast<double>(same) * std::numbers::pi / 180);
  }
  return result;
}

AngleWeights weights_of_degrees(std::vector<double> degrees) {
  for (double& angle : degrees) angle *= std::numbers::pi / 180;
  return weigh_angles(degrees, AngleWeighting::kSpacing);
}

TEST(AngleWeights, AreHalfTheWayToTheNextForCompleteScansHoweverUneven) {
  const std::vector<std::pair<const char*, std::vector<double>>> scans{
      {"steps that do not divide a turn", degrees_in_steps(0, 7.19, 50)},
      {"a full turn", degrees_in_steps(0, 6, 60)},
      {"a full turn with noise", with_noise(degrees_in_steps(0, 6, 60))},
      {"steps of 5 degrees with noise", with_noise(degrees_in_steps(0, 5, 72))},
      {"steps of 8 degrees with noise", with_noise(degrees_in_steps(0, 8, 45))},
      {"few, with noise", with_noise(degrees_in_steps(0, 45, 8))},
      {"both ends", degrees_in_steps(0, 6, 61)},
      {"361 degrees", degrees_in_steps(0, 361.0 / 60, 60)},
      {"359.5 degrees", degrees_in_steps(0, 359.5 / 50, 50)},
      {"two passes", joined(degrees_in_steps(0, 6, 30), degrees_in_steps(0.3, 6, 30))},
      {"four passes", degrees_in_steps(0, 7.19, 100)},
      {"dense, then sparse", joined(degrees_in_steps(0, 0.5, 100), degrees_in_steps(50, 6, 22))},
      {"very dense, then sparse", joined(degrees_in_steps(0, 0.25, 200), degrees_in_steps(50, 10, 13))},
      {"mostly dense", joined(degrees_in_steps(0, 0.5, 200), degrees_in_steps(100, 10, 8))},
      {"dense, then two", joined(degrees_in_steps(0, 0.25, 640), degrees_in_steps(160, 10, 2))},
      {"mostly dense, a full turn with noise",
       with_noise(joined(joined(degrees_in_steps(0, 0.5, 200), degrees_in_steps(100, 10, 8)),
                         joined(degrees_in_steps(180, 0.5, 200), degrees_in_steps(280, 10, 8))))},
      {"nine", degrees_in_steps(0, 20, 9)}};
  for (const auto& [name, degrees] : scans) {
    const AngleWeights weights = weights_of_degrees(degrees);
    EXPECT_NEAR(weights.covered, std::numbers::pi, 1e-9) << name;
    EXPECT_NEAR(std::accumulate(weights.weights.begin(), weights.weights.end(), 0.0), std::numbers::pi, 1e-9);
    const std::vector<double> expected = half_ways(degrees);
    for (std::size_t i = 0; i < degrees.size(); ++i)
      EXPECT_NEAR(weights.weights[i], expected[i], 5e-6) << name << ", angle " << i;
  }
}

TEST(AngleWeights, DoNotCountWhatWasNotMeasured) {
  // Scans, and how many degrees they cover.
  const std::vector<std::tuple<const char*, std::vector<double>, double>> scans{
      {"half of it", degrees_in_steps(0, 2, 45), 90},
      {"the first two angles", degrees_in_steps(0, 4, 2), 8},
      {"the first three angles", degrees_in_steps(0, 6, 3), 18},
      {"a lost block", joined(degrees_in_steps(0, 1, 60), degrees_in_steps(80, 1, 100)), 160},
      {"two lost blocks of the same length, and most of the end",
       joined(degrees_in_steps(0, 1, 20), joined(degrees_in_steps(60, 1, 20), degrees_in_steps(120, 1, 10))),
       50},
      {"two passes of a half", joined(degrees_in_steps(0, 2, 45), degrees_in_steps(1, 2, 45)), 90},
      {"dense, then sparse, then nothing", joined(degrees_in_steps(0, 0.5, 100), degrees_in_steps(50, 6, 7)),
       0.25 + 86 + 3}};
  for (const auto& [name, degrees, covered] : scans)
    EXPECT_NEAR(weights_of_degrees(degrees).covered * 180 / std::numbers::pi, covered, 1e-9) << name;
}

TEST(PositionWeights, GiveEveryLineOfAFullTurnTheSameWeight) {
  for (const double axis : {0.0, 4.0, 7.5, 12.0, 20.0, 27.0, 30.0}) {
    const std::vector<double> weights = weigh_positions(31, axis);
    for (std::size_t i = 0; i < 31; ++i) {
      const double from_behind = 2 * axis - static_cast<double>(i);
      if (from_behind >= 0 && from_behind <= 30) {
        EXPECT_NEAR(weights[i] + weights[static_cast<std::size_t>(from_behind)], 2, 1e-12)
            << axis << ' ' << i;
      } else {
        EXPECT_DOUBLE_EQ(weights[i], 2) << axis << ' ' << i;
      }
    }
  }
  for (const double weight : weigh_positions(31, 15)) EXPECT_EQ(weight, 1);
}

}  // namespace
}  // namespace annulus
