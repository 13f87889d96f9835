#include <annulus/plan/fixed_point.hpp>
#include <annulus/plan/splitting.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

namespace annulus {
namespace {

std::vector<std::uint32_t> quantised(std::vector<Share> shares, int bits) {
  std::vector<std::uint32_t> weights;
  quantise_shares(shares, bits, weights);
  EXPECT_EQ(shares.size(), weights.size());
  return weights;
}

TEST(FixedPoint, ThirdsGiveTheirResidueToTheFirstLargestShare) {
  EXPECT_EQ(quantised({{0, 1.0 / 3}, {1, 1.0 / 3}, {2, 1.0 / 3}}, 23),
            (std::vector<std::uint32_t>{2796202, 2796203, 2796203}));
}

TEST(FixedPoint, SharesThatRoundToNothingAreDropped) {
  std::vector<Share> shares = {{4, 1e-9}, {5, 1.0 - 2e-9}, {6, 1e-9}};
  std::vector<std::uint32_t> weights;
  quantise_shares(shares, 23, weights);
  ASSERT_EQ(weights, std::vector<std::uint32_t>{1u << 23});
  EXPECT_EQ(shares.front().bin, 5u);
}

TEST(FixedPoint, SharesThatDoNotAddUpAreAFaultOfTheProgram) {
  // Far more than rounding leaves: handing it out would make up intensities.
  EXPECT_THROW(quantised({{0, 0.5}, {1, 0.4}}, 23), std::logic_error);
  EXPECT_THROW(quantised({{0, 0.6}, {1, 0.6}}, 23), std::logic_error);
  EXPECT_THROW(quantised({{0, 0.999}}, 12), std::logic_error);
  EXPECT_TRUE(quantised({}, 23).empty());
}

TEST(FixedPoint, RandomFootprintsSumExactlyAndStayWithinOneUnit) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t count = round % 100 == 0 ? 20000 : 1 + random() % 12;
    std::vector<Share> shares;
    double total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      shares.push_back(
          {static_cast<std::uint32_t>(i), std::uniform_real_distribution<double>(1e-6, 1)(random)});
      total += shares.back().share;
    }
    for (Share& share : shares) share.share /= total;
    const int bits = 12 + static_cast<int>(random() % 12);
    std::vector<Share> kept = shares;
    std::vector<std::uint32_t> weights;
    quantise_shares(kept, bits, weights);
    ASSERT_EQ(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}), std::uint64_t{1} << bits);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      ASSERT_NEAR(weights[i], std::ldexp(kept[i].share, bits), 1.5) << "share " << i << " of " << count;
    }
  }
}

TEST(FixedPoint, WeightBitsAreTheLargestThatCannotOverflow) {
  EXPECT_EQ(safe_weight_bits(1000, 1 << 20), 23);                    // 2^23 * 1000 * 2^20 is far below 2^63
  EXPECT_EQ(safe_weight_bits(1u << 12, std::int64_t{1} << 28), 22);  // 2^(23+12+28) = 2^63 is too much
  EXPECT_EQ(safe_weight_bits((1u << 12) - 1, std::int64_t{1} << 28), 23);
  EXPECT_EQ(safe_weight_bits(1u << 20, 4294967295), 11);
  EXPECT_EQ(safe_weight_bits(1, 1), 23);
}

TEST(FixedPoint, ValueBitsBringTheLargestValueBelowTwoToThe30) {
  for (const double largest : {1e-9, 0.3, 1.0, 1.5, 65535.0, 1e12}) {
    const int bits = safe_value_bits(largest, largest * 0x1p23, std::int64_t{1} << 23);
    const double scaled = std::ldexp(largest, bits);
    EXPECT_LE(scaled, 0x1p30) << largest;
    EXPECT_GT(scaled, 0x1p28) << largest;
  }
  // A full bin takes bits away: 2^40 in weights leaves values below 2^23, unless those of full bins are
  // small.
  EXPECT_EQ(safe_value_bits(1.0, 0x1p40, std::int64_t{1} << 40), 22);
  EXPECT_EQ(safe_value_bits(1.0, 0x1p33, std::int64_t{1} << 40), 29);
  EXPECT_EQ(safe_value_bits(0, 0, 1), 0);
}

TEST(FixedPoint, SquaredWeightsAreRoundedSquaresAndNeverZero) {
  EXPECT_EQ(squared_weight(1u << 23, 23, 23), 1u << 23);
  EXPECT_EQ(squared_weight(1u << 22, 23, 23), 1u << 21);
  EXPECT_EQ(squared_weight(1u << 23, 23, 31), 1u << 31);
  EXPECT_EQ(squared_weight(1, 23, 31), 1u);
  EXPECT_EQ(squared_weight(7, 12, 24), 49u);
  std::mt19937_64 random(6);
  for (int round = 0; round < 10000; ++round) {
    const int bits = 12 + static_cast<int>(random() % 12);
    const int variance_bits = std::min(31, bits + static_cast<int>(random() % 9));
    const auto weight = static_cast<std::uint32_t>(1 + random() % (1u << bits));
    const long double exact = std::ldexp(static_cast<long double>(weight) * weight, variance_bits - 2 * bits);
    const auto expected = std::max(1.0L, std::floor(exact + 0.5L));
    ASSERT_EQ(squared_weight(weight, bits, variance_bits), static_cast<std::uint32_t>(expected));
  }
}

}  // namespace
}  // namespace annulus
