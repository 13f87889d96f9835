#include <annulus/plan/sums.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

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
  EXPECT_EQ(pattern.intensity, (PooledArray<double>{(130 - 30) / (5.0 * 2), (8 - 4) / (2.0 * 2)}));
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

// Of one bin, as a number of several words has it.
Sums wide_sums(const std::vector<std::int64_t>& words) {
  Sums sums;
  sums.set(Quantity::kSignal, words, words.size());
  return sums;
}

TEST(Sums, NumbersOfSeveralWordsAreRoundedOnce) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  const auto number = [](const std::vector<std::int64_t>& words) {
    return wide_sums(words).number(Quantity::kSignal, 0);
  };
  EXPECT_EQ(number({7, 0, 0}), 7);
  EXPECT_EQ(number({-7, 0}), -7);
  EXPECT_EQ(number({0, 1}), 0x1p64);
  EXPECT_EQ(number({-1, 1}), 0x1p64);    // 2^64 - 1
  EXPECT_EQ(number({kLow, 1}), 0x1p63);  // 2^64 - 2^63
  EXPECT_EQ(number({5, -1}), -0x1p64);   // -2^64 + 5
  EXPECT_EQ(number({0, 0, 0, 0, 0, -3}), -3 * 0x1p320);
  EXPECT_EQ(number({1 << 11, 1}), 0x1p64);  // a tie, to even
  EXPECT_EQ(number({1 << 12, 1}), 0x1p64 + 0x1p12);
  EXPECT_EQ(number({(1 << 11) + 1, 1}), 0x1p64 + 0x1p12);
  EXPECT_EQ(number({1, 1 << 11, 1}), 0x1p128 + 0x1p76);  // a tie but for the lowest word
  EXPECT_EQ(number({0, 1 << 11, 1}), 0x1p128);
  EXPECT_EQ(number({-1, 1 << 11, 1}), 0x1p128);
}

TEST(Sums, LayersAddUpExactly) {
  std::mt19937_64 random(11);
  __extension__ using Wide = __int128;
  for (int round = 0; round < 2000; ++round) {
    // Up to 63 + 58 bits.
    std::vector<Sums> layers(1 + random() % 3);
    Wide expected = 0;
    for (std::size_t k = 0; k < layers.size(); ++k) {
      const auto value = static_cast<std::int64_t>(random()) >> (1 + random() % 60);
      layers[k].fraction_bits = 40 - static_cast<int>(29 * k);
      layers[k].set(Quantity::kSignal, {value, -value});
      layers[k].invalid_pixels = k == 0 ? 3 : 0;
      if (k == 0) layers[k].set(Quantity::kMissingCount, {8, 9});
      expected += value * (Wide{1} << (29 * k));
    }
    const std::size_t count = layers.size();
    std::shuffle(layers.begin() + 1, layers.end(), random);
    const Sums sums = combine_layers(std::move(layers));
    EXPECT_EQ(sums.fraction_bits, 40);
    EXPECT_EQ(sums.invalid_pixels, 3u);
    EXPECT_EQ(sums[Quantity::kMissingCount][1], 9);
    ASSERT_EQ(sums.words(Quantity::kSignal), count == 1 ? 1u : 2u);
    Wide got[2] = {0, 0};
    for (std::size_t word = 0; word < sums.words(Quantity::kSignal); ++word) {
      for (std::size_t bin = 0; bin < 2; ++bin) {
        got[bin] += Wide{sums.word(Quantity::kSignal, word)[bin]} * (word == 0 ? Wide{1} : Wide{1} << 64);
      }
    }
    ASSERT_TRUE(got[0] == expected && got[1] == -expected) << round;
    ASSERT_EQ(sums.number(Quantity::kSignal, 0), static_cast<double>(expected));
    ASSERT_EQ(sums.number(Quantity::kSignal, 1), static_cast<double>(-expected));
  }
}

TEST(Sums, TheWidestLayersFitTheirWords) {
  std::vector<Sums> layers(12);
  for (std::size_t k = 0; k < layers.size(); ++k) {
    layers[k].fraction_bits = 149 - static_cast<int>(29 * k);
    layers[k].set(Quantity::kSignal, {INT64_MAX, INT64_MIN});
  }
  const Sums sums = combine_layers(std::move(layers));
  EXPECT_EQ(sums.words(Quantity::kSignal), kMostWords);
  EXPECT_NEAR(sums.number(Quantity::kSignal, 0) / 0x1p382, 1, 1e-8);
  EXPECT_NEAR(sums.number(Quantity::kSignal, 1) / -0x1p382, 1, 1e-8);
}

}  // namespace
}  // namespace annulus
