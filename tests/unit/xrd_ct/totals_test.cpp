#include <annulus/xrd_ct/totals.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace annulus {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
using Patterns = std::vector<std::vector<double>>;

CellTotals totals_of(const Patterns& cells) {
  CellTotals totals(cells.size(), cells.front().size());
  for (std::size_t cell = 0; cell < cells.size(); ++cell) totals.take(cell, cells[cell]);
  if (totals.need_another_reading()) {
    for (std::size_t cell = 0; cell < cells.size(); ++cell) totals.take_again(cell, cells[cell]);
  }
  return totals;
}

TEST(CellTotals, AreTheSumsOfAllBinsIfThereAreNoGaps) {
  const CellTotals totals = totals_of({{1, 2, kNoValue, 4}, {5, 6, kNoValue, 8}});
  EXPECT_THAT(totals.values(), ElementsAre(7, 19));
  EXPECT_EQ(totals.bins_that_count(), 3U);
  CellTotals once(1, 2);
  once.take(0, std::vector{1.0, kNoValue});
  EXPECT_FALSE(once.need_another_reading());
}

TEST(CellTotals, BinsWithAGapInOneCellCountInNone) {
  const CellTotals totals =
      totals_of({{1, 2, 3}, {4, kNoValue, 6}, {kNoValue, kNoValue, kNoValue}, {7, 8, 9}});
  EXPECT_EQ(totals.values()[0], 4);
  EXPECT_EQ(totals.values()[1], 10);
  EXPECT_TRUE(std::isnan(totals.values()[2]));
  EXPECT_EQ(totals.values()[3], 16);
  EXPECT_EQ(totals.bins_that_count(), 2U);
  EXPECT_EQ(totals.bins_with_values(), 3U);
}

TEST(CellTotals, WithoutACommonBinTheyAreRelativeToTheMeanPattern) {
  // All cells have the same pattern, 10 20 40, of which each lacks another bin.
  const CellTotals totals = totals_of({{kNoValue, 20, 40}, {10, kNoValue, 40}, {10, 20, kNoValue}});
  EXPECT_EQ(totals.bins_that_count(), 0U);
  EXPECT_THAT(totals.values(), Pointwise(DoubleNear(1e-12), std::vector<double>{70, 70, 70}));
}

}  // namespace
}  // namespace annulus
