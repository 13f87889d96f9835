#include <annulus/scan/scan_grid.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "../message_of.hpp"

namespace annulus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

ScanGrid grid_from(const std::vector<double>& slow, const std::vector<double>& fast,
                   const AxisRule& slow_rule = {}, const AxisRule& fast_rule = {}) {
  return grid_of_columns(find_axis({"y"}, slow, slow_rule), find_axis({"x"}, fast, fast_rule));
}

TEST(ScanGrid, AZigzagIsUnfoldedByItsColumns) {
  const ScanGrid grid = grid_from({0, 0, 0, 1, 1, 1}, {0, 1, 2, 2, 1, 0});
  ASSERT_EQ(grid.rows(), 2u);
  ASSERT_EQ(grid.cols(), 3u);
  EXPECT_THAT(grid.frames_in(0, 2), ElementsAre(2));
  EXPECT_THAT(grid.frames_in(1, 0), ElementsAre(5));
  EXPECT_EQ(grid.empty_cells(), 0u);
  EXPECT_THAT(grid.slow().positions, ElementsAre(0, 1));
}

TEST(ScanGrid, MissingDoubledAndNanPointsHaveTheirPlace) {
  //                                  missing: (1, 2)   doubled: (1, 0)   without a place: the last two
  const ScanGrid grid = grid_from({0, 0, 0, 1, 1, 1, kNoValue, 1}, {0, 1, 2, 0, 1, 0, 1, kNoValue});
  EXPECT_THAT(grid.frames_in(1, 2), IsEmpty());
  EXPECT_THAT(grid.frames_in(1, 0), ElementsAre(3, 5));
  EXPECT_THAT(grid.left_out(), ElementsAre(6, 7));
  EXPECT_EQ(grid.empty_cells(), 1u);
  EXPECT_EQ(grid.doubled_cells(), 1u);
}

TEST(ScanGrid, InterleavedAndHelicalOrdersAreSortedByTheirColumns) {
  // Angles 0, 2, 4 and then 1, 3, 5; the motor goes on turning: a full turn more every line.
  std::vector<double> angle, x;
  for (int pass = 0; pass < 2; ++pass) {
    for (int line = 0; line < 3; ++line) {
      for (int i = 0; i < 4; ++i) {
        angle.push_back(2 * line + pass + 360.0 * (3 * pass + line));
        x.push_back(0.5 * i);
      }
    }
  }
  const ScanGrid grid = grid_from(angle, x, {.period = 360});
  ASSERT_EQ(grid.rows(), 6u);
  ASSERT_EQ(grid.cols(), 4u);
  EXPECT_THAT(grid.frames_in(1, 2), ElementsAre(14));
  EXPECT_THAT(grid.frames_in(4, 0), ElementsAre(8));
  EXPECT_EQ(grid.empty_cells(), 0u);
}

TEST(ScanGrid, AMotorThatMovedIsDividedByItsStep) {
  // The angle turns while a line is taken: no two frames have the same.
  std::vector<double> angle, x;
  for (int i = 0; i < 40; ++i) {
    angle.push_back(0.1 * i);
    x.push_back(i % 10);
  }
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { grid_from(angle, angle); }),
              HasSubstr("40 positions of column y and 40 of column x make 1600 cells for 40 frames"));
  const ScanGrid grid = grid_from(angle, x, {.step = 1});
  EXPECT_EQ(grid.rows(), 4u);
  EXPECT_EQ(grid.empty_cells(), 0u);
}

TEST(ScanGrid, WhatMakesNoGridIsNamed) {
  const auto refusal = [](const std::vector<double>& slow, const std::vector<double>& fast) {
    return message_of(ErrorKind::kInput, [&] { grid_from(slow, fast); });
  };
  EXPECT_THAT(refusal({0, 1, 2}, {0, 1}), HasSubstr("column y has 3 values, column x has 2"));
  EXPECT_THAT(refusal({0, 1, kNoValue, kNoValue}, {kNoValue, kNoValue, 0, 1}),
              HasSubstr("no frame has a value of both"));
}

TEST(ScanGrid, AShapeIsFilledLineByLine) {
  const ScanGrid plain = grid_of_shape(6, 2, 3);
  EXPECT_THAT(plain.frames_in(1, 0), ElementsAre(3));
  const ScanGrid odd = grid_of_shape(6, 2, 3, Zigzag::kOddReversed);
  EXPECT_THAT(odd.frames_in(0, 0), ElementsAre(0));
  EXPECT_THAT(odd.frames_in(1, 0), ElementsAre(5));
  const ScanGrid even = grid_of_shape(6, 2, 3, Zigzag::kEvenReversed);
  EXPECT_THAT(even.frames_in(0, 0), ElementsAre(2));
  EXPECT_THAT(even.frames_in(1, 0), ElementsAre(3));
}

TEST(ScanGrid, AShapeThatIsNotFullHasEmptyCells) {
  const ScanGrid grid = grid_of_shape(4, 2, 3, Zigzag::kOddReversed);
  EXPECT_THAT(grid.frames_in(1, 2), ElementsAre(3));
  EXPECT_THAT(grid.frames_in(1, 0), IsEmpty());
  EXPECT_EQ(grid.empty_cells(), 2u);
}

TEST(ScanGrid, AShapeThatDoesNotFitIsNamed) {
  EXPECT_THAT(message_of(ErrorKind::kInput, [] { grid_of_shape(7, 2, 3); }),
              HasSubstr("7 frames do not fit 2 x 3"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [] { grid_of_shape(0, 2, 3); }), HasSubstr("no frames"));
  EXPECT_THAT(message_of(ErrorKind::kUsage, [] { grid_of_shape(1, 0, 3); }), HasSubstr("0 x 3"));
}

// Against a map by the true places: random order, noise, missing, doubled and NaN points.
TEST(ScanGrid, AgreesWithTheTruthOfRandomScans) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    const std::size_t rows = 2 + random() % 12, cols = 2 + random() % 12;
    std::vector<std::pair<std::size_t, std::size_t>> visits;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t col = 0; col < cols; ++col) {
        // The first row and column stay, so that every position is visited.
        const std::size_t times = row == 0 || col == 0 || random() % 10 > 0 ? 1 + (random() % 10 == 0) : 0;
        for (std::size_t i = 0; i < times; ++i) visits.emplace_back(row, col);
      }
    }
    std::ranges::shuffle(visits, random);
    std::uniform_real_distribution<double> noise(-0.01, 0.01);
    std::vector<double> slow, fast;
    std::map<std::pair<std::size_t, std::size_t>, std::vector<std::uint32_t>> truth;
    std::vector<std::uint32_t> lost;
    for (std::size_t i = 0; i < visits.size(); ++i) {
      const auto [row, col] = visits[i];
      const bool is_lost = row > 0 && col > 0 && random() % 20 == 0;
      slow.push_back(1.5 * static_cast<double>(row) + noise(random));
      fast.push_back(is_lost ? kNoValue : -2.0 * static_cast<double>(cols - col) + noise(random));
      if (is_lost) {
        lost.push_back(static_cast<std::uint32_t>(i));
      } else {
        truth[visits[i]].push_back(static_cast<std::uint32_t>(i));
      }
    }
    const ScanGrid grid = grid_from(slow, fast);
    ASSERT_EQ(grid.rows(), rows);
    ASSERT_EQ(grid.cols(), cols);
    EXPECT_EQ(grid.left_out(), lost);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t col = 0; col < cols; ++col) {
        const auto frames = grid.frames_in(row, col);
        const std::vector<std::uint32_t> found(frames.begin(), frames.end());
        EXPECT_EQ(found, (truth[{row, col}])) << row << " " << col;
      }
    }
  }
}

TEST(ScanGrid, SaysHowFarApartFramesOfACellAre) {
  const std::vector<double> angles = {0, 0.5, 359, 90, 90, 0, 90, 90.25}, places = {1, 1, 1, 1, 2, 2, 2, 2};
  const AxisRule rule{.tolerance = 2, .period = 360};
  const ScanGrid grid = grid_of_columns(find_axis({"rot"}, angles, rule), find_axis({"x"}, places));
  EXPECT_EQ(grid.rows(), 2U);
  EXPECT_DOUBLE_EQ(spread_in_cells(grid, angles, 360), 1.5);
  EXPECT_DOUBLE_EQ(spread_in_cells(grid, places), 0);
  EXPECT_DOUBLE_EQ(grid.fast().least_step(), 1);
}

}  // namespace
}  // namespace annulus
