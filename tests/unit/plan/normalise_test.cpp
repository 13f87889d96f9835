#include <annulus/plan/pattern.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace annulus {
namespace {

// Two bins, numbers small enough for a hand.
Plan two_bins() {
  Plan plan;
  plan.axes = {{AxisKind::kRadial, "2theta", "deg", {1, 2}, {0.5, 1.5, 2.5}}};
  plan.weight_bits = 4;
  plan.variance_bits = 5;
  plan.normalization_bits = 3;
  plan.dark_bits = 1;
  plan.totals.count = {16 * 10, 16 * 4};
  plan.totals.normalization = {16 * 8 * 5, 16 * 8 * 2};  // 5 and 2
  plan.totals.dark = {16 * 2 * 30, 16 * 2 * 4};          // 30 and 4
  return plan;
}

TEST(Normalise, SubtractsTheDarkAndDividesByNormTimesFactor) {
  Sums sums;
  sums.set(Quantity::kSignal, {16 * 130, 16 * 8});
  sums.set(Quantity::kVariance, {32 * 400, 32 * 16});
  const Pattern pattern = normalise(two_bins(), sums, 2);
  EXPECT_EQ(pattern.intensity, (std::vector<double>{(130 - 30) / (5.0 * 2), (8 - 4) / (2.0 * 2)}));
  EXPECT_EQ(pattern.error, (std::vector<double>{20 / (5.0 * 2), 4 / (2.0 * 2)}));
}

TEST(Normalise, TakesAwayWhatInvalidPixelsMiss) {
  Sums sums;
  sums.set(Quantity::kSignal, {16 * 130, 0});
  sums.set(Quantity::kMissingCount, {16 * 2, 16 * 4});
  sums.set(Quantity::kMissingNormalization, {16 * 8 * 1, 16 * 8 * 2});
  sums.set(Quantity::kMissingDark, {16 * 2 * 10, 16 * 2 * 4});
  const Pattern pattern = normalise(two_bins(), sums, 2);
  EXPECT_EQ(pattern.intensity[0], (130 - 20) / (4.0 * 2));
  EXPECT_TRUE(std::isnan(pattern.intensity[1])) << "no pixel is left in the bin";
}

TEST(Normalise, FractionBitsScaleSignalAndVariance) {
  Sums sums;
  sums.fraction_bits = 3;
  sums.set(Quantity::kSignal, {16 * 130 * 8, 16 * 8 * 8});
  sums.set(Quantity::kVariance, {32 * 400 * 8, 32 * 16 * 8});
  const Pattern pattern = normalise(two_bins(), sums, 2);
  EXPECT_EQ(pattern.intensity[0], 10);
  EXPECT_EQ(pattern.error[0], 2);
}

}  // namespace
}  // namespace annulus
