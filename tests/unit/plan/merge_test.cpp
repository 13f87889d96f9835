#include <annulus/plan/merge.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace annulus {
namespace {

using ::testing::IsNan;

// Normalisation and weights of one; bin b has the normalisation b, so that bin 0 has no pixels.
Plan simple_plan(std::size_t bins, bool with_dark = false) {
  Plan plan;
  Axis& radial = plan.axes.emplace_back();
  for (std::size_t bin = 0; bin < bins; ++bin) {
    radial.centres.push_back(10.0 + static_cast<double>(bin));
    plan.totals.count.push_back(static_cast<std::int64_t>(bin));
    plan.totals.normalization.push_back(static_cast<std::int64_t>(bin));
    if (with_dark) plan.totals.dark.push_back(static_cast<std::int64_t>(bin));
  }
  return plan;
}

Sums with_signal(const std::vector<std::int64_t>& values, int fraction_bits = 0, std::size_t words = 1) {
  Sums sums;
  sums.fraction_bits = fraction_bits;
  sums.set(Quantity::kSignal, PooledArray<std::int64_t>(std::span<const std::int64_t>(values)), words);
  return sums;
}

MergedBins merge_all(const Plan& plan, const std::vector<Sums>& frames, BinRange bins,
                     const std::vector<double>& factors = {}) {
  std::vector<FrameAndFactor> list;
  for (std::size_t i = 0; i < frames.size(); ++i)
    list.push_back({&frames[i], factors.empty() ? 1.0 : factors[i]});
  return merge(plan, list, bins);
}

TEST(Merge, OfOneBinOfOneFrameIsItsPattern) {
  std::mt19937_64 random(3);
  Plan plan = simple_plan(40, true);
  plan.weight_bits = 7;
  plan.normalization_bits = 5;
  plan.dark_bits = 3;
  plan.variance_bits = 9;
  for (auto* totals : {&plan.totals.count, &plan.totals.normalization, &plan.totals.dark}) {
    for (std::int64_t& total : *totals) total *= static_cast<std::int64_t>(random() % 100000);
  }
  Sums sums;
  sums.fraction_bits = 13;
  for (const Quantity quantity : all_quantities()) {
    for (std::int64_t& value : sums.make(quantity, plan.bins()))
      value = static_cast<std::int64_t>(random() >> (is_missing(quantity) ? 58 : 1));
  }
  const Pattern pattern = normalise(plan, sums, 0.3);
  for (std::size_t bin = 0; bin < plan.bins(); ++bin) {
    const MergedBins merged = merge_all(plan, {sums}, {bin, bin + 1}, {0.3});
    EXPECT_EQ(std::bit_cast<std::uint64_t>(merged.intensity),
              std::bit_cast<std::uint64_t>(pattern.intensity[bin]));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(merged.error), std::bit_cast<std::uint64_t>(pattern.error[bin]));
  }
}

TEST(Merge, AddsAndDividesOnce) {
  const Plan plan = simple_plan(4, true);
  const std::vector<Sums> frames = {with_signal({0, 10, 20, 30}), with_signal({0, 1, 2, 3})};
  // Signals 66, darks 12, of normalisation 6 with factor 2 and 6 with factor 0.5.
  const MergedBins merged = merge_all(plan, frames, {0, 4}, {2, 0.5});
  EXPECT_EQ(merged.intensity, (66.0 - 12.0) / (12.0 + 3.0));
  EXPECT_THAT(merged.error, IsNan());
  EXPECT_DOUBLE_EQ(merged.centre, (11 + 2 * 12 + 3 * 13) / 6.0);
}

TEST(Merge, WithoutPixelsThereIsNothing) {
  const Plan plan = simple_plan(3);
  EXPECT_THAT(merge_all(plan, {with_signal({5, 5, 5})}, {0, 1}).intensity, IsNan());
  EXPECT_THAT(merge_all(plan, {}, {0, 3}).intensity, IsNan());
  // An empty bin beside others does no harm.
  EXPECT_EQ(merge_all(plan, {with_signal({0, 4, 5})}, {0, 3}).intensity, 3);
}

TEST(Merge, OfFramesInDifferentUnitsIsExact) {
  Plan plan = simple_plan(2);
  constexpr std::int64_t kBig = std::int64_t{1} << 53;
  const auto sum = [&](const std::vector<Sums>& frames) {
    return merge_all(plan, frames, {1, 2}).intensity * static_cast<double>(frames.size());
  };
  // Half of the last bit is a tie, which goes to the even number; whatever comes on top breaks it.
  EXPECT_EQ(sum({with_signal({0, kBig}), with_signal({0, 1})}), 0x1p53);
  EXPECT_EQ(sum({with_signal({0, kBig}), with_signal({0, 1}), with_signal({0, 1}, 1074)}) / 3 * 3,
            (0x1p53 + 2) / 3 * 3);
  EXPECT_EQ(
      sum({with_signal({0, kBig}), with_signal({0, 2}, 1), with_signal({0, -1}, 1074), with_signal({0, 0})}),
      0x1p53);
  // Words beyond the first count 2^64 each.
  EXPECT_EQ(sum({with_signal({0, 7, 0, 1}, 0, 2), with_signal({0, -7, 0, 1}, 0, 2)}), 0x1p65);
  EXPECT_EQ(sum({with_signal({0, 7, 0, -1}, 0, 2), with_signal({0, -7, 0, 0}, 0, 2)}), -0x1p64);
}

TEST(Merge, APartOfAPlanGivesTheSame) {
  const Plan plan = simple_plan(9, true);
  const Plan part = part_of(plan, {3, 8});
  EXPECT_EQ(part.axes.front().centres, (std::vector<double>{13, 14, 15, 16, 17}));
  const std::vector<Sums> whole = {with_signal({0, 1, 2, 9, 4, 5, 7, 7, 8})};
  const std::vector<Sums> some = {with_signal({9, 4, 5, 7, 7})};
  const MergedBins expected = merge_all(plan, whole, {4, 7}), merged = merge_all(part, some, {1, 4});
  EXPECT_EQ(merged.intensity, expected.intensity);
  EXPECT_EQ(merged.centre, expected.centre);
  EXPECT_EQ(normalise(part, some.front()).intensity[2], normalise(plan, whole.front()).intensity[5]);
}

}  // namespace
}  // namespace annulus
