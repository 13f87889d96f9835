#include <annulus/xrd_ct/resampling.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "message_of.hpp"

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Angles of 0, 30, 60, ... degrees.
MeasuredScan scan_of(std::size_t rows, std::size_t columns) {
  MeasuredScan scan;
  scan.grid = grid_of_shape(rows * columns, rows, columns);
  for (std::size_t row = 0; row < rows; ++row) scan.angle.positions.push_back(30 * static_cast<double>(row));
  for (std::size_t cell = 0; cell < rows * columns; ++cell)
    scan.places.push_back(static_cast<double>(cell % columns));
  return scan;
}

// Two bins: the second is ten times the first.
Sinogram sinogram_of(std::size_t rows, const std::vector<double>& values) {
  Sinogram sinogram(rows, values.size() / rows, 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    sinogram.values[2 * i] = static_cast<float>(values[i]);
    sinogram.values[2 * i + 1] = static_cast<float>(10 * values[i]);
  }
  return sinogram;
}

std::vector<float> bin_of(const Sinogram& sinogram, std::size_t bin) {
  std::vector<float> values;
  for (std::size_t i = bin; i < sinogram.values.size(); i += sinogram.bins)
    values.push_back(sinogram.values[i]);
  return values;
}

TEST(Resampling, KeepsWhatWasMeasuredAtEvenPositions) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6};
  const Resampling resampling(scan_of(2, 3), values);
  Sinogram sinogram = sinogram_of(2, values);
  resampling.apply(sinogram, 2);
  EXPECT_THAT(bin_of(sinogram, 0), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(resampling.cells_without_value(), 0U);
  EXPECT_EQ(resampling.left_out(), 0U);
}

TEST(Resampling, FillsBetweenNeighboursAndGoesOnAsTheOutermost) {
  const std::vector<double> values = {kNone, 2, kNone, kNone, 8, kNone, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  // A third of the first row was measured: too little. With one more it is half.
  std::vector<double> more = values;
  more[5] = 9;
  EXPECT_EQ(Resampling(scan_of(3, 6), values).left_out(), 1U);
  const Resampling resampling(scan_of(3, 6), more);
  EXPECT_EQ(resampling.cells_without_value(), 3U);
  Sinogram sinogram = sinogram_of(3, more);
  resampling.apply(sinogram, 1);
  const std::vector<float> first = bin_of(sinogram, 0);
  EXPECT_THAT(std::vector(first.begin(), first.begin() + 6), ElementsAre(2, 2, 4, 6, 8, 9));
  EXPECT_EQ(bin_of(sinogram, 1)[2], 40);
}

TEST(Resampling, LeavesGapsIfAsked) {
  const std::vector<double> values = {kNone, 2, kNone, 4, 5, 6, 1, 1, 1, 1, 1, 1};
  Sinogram sinogram = sinogram_of(2, values);
  Resampling(scan_of(2, 6), values).apply(sinogram, 1, Gaps::kLeave);
  const std::vector<float> found = bin_of(sinogram, 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::isnan(found[i]), std::isnan(values[i])) << i;
    if (!std::isnan(values[i])) {
      EXPECT_EQ(found[i], 10 * values[i]) << i;
    }
  }
}

TEST(Resampling, LeavesGapsBetweenUnevenPositionsIfAsked) {
  const std::vector<double> values = {0, 1, kNone, 3, 4, kNone, 1, 1, 1, 1, 1, 1};
  MeasuredScan scan = scan_of(2, 6);
  scan.unevenness = 0.3;
  scan.places[1] = 1.3;
  scan.places[3] = 3.1;
  Sinogram sinogram = sinogram_of(2, values);
  Resampling(scan, values).apply(sinogram, 1, Gaps::kLeave);
  const std::vector<float> found = bin_of(sinogram, 0);
  EXPECT_FLOAT_EQ(found[1], 1 / 1.3F);
  EXPECT_TRUE(std::isnan(found[2]));  // 0.7 steps from one, 1.1 from the other
  EXPECT_FLOAT_EQ(found[3], 1 + 2 * 1.7F / 1.8F);
  EXPECT_EQ(found[4], 4);
  EXPECT_TRUE(std::isnan(found[5]));
}

TEST(Resampling, LeavesProjectionsOut) {
  const std::vector<double> values = {1, 2, kNone, kNone, 5, 6, 7, 8};
  const Resampling resampling(scan_of(4, 2), values);
  EXPECT_THAT(resampling.rows(), ElementsAre(0, 2, 3));
  Sinogram sinogram = sinogram_of(4, values);
  resampling.apply(sinogram, 1);
  EXPECT_EQ(sinogram.angles, 3U);
  EXPECT_THAT(bin_of(sinogram, 0), ElementsAre(1, 2, 5, 6, 7, 8));
}

TEST(Resampling, TheUnfinishedRowIsNotCountedAsLeftOut) {
  MeasuredScan scan = scan_of(3, 2);
  scan.unfinished_row = 2;
  const Resampling resampling(scan, std::vector<double>{1, 2, 3, 4, 5, kNone});
  EXPECT_THAT(resampling.rows(), ElementsAre(0, 1));
  EXPECT_EQ(resampling.left_out(), 0U);
}

TEST(Resampling, UnevenPositionsAreInterpolatedProjectionByProjection) {
  MeasuredScan scan = scan_of(2, 4);
  scan.places = {0, 0.5, 2.5, 3, 0.25, 1, 2, 2.75};
  scan.unevenness = 0.5;
  const std::vector<double> values = {0, 5, 25, 30, 1, 4, 8, 11};  // straight lines
  const Resampling resampling(scan, values);
  Sinogram sinogram = sinogram_of(2, values);
  resampling.apply(sinogram, 1);
  EXPECT_THAT(bin_of(sinogram, 0), ElementsAre(0, 10, 20, 30, 1, 4, 8, 11));
  EXPECT_EQ(resampling.cells_without_value(), 0U);
}

TEST(Resampling, RefusesScansOfOneDirection) {
  MeasuredScan scan = scan_of(2, 2);
  scan.angle.positions = {10, 190};
  EXPECT_THAT(message_of(ErrorKind::kInput,
                         [&] {
                           const Resampling made(scan, std::vector<double>{1, 2, 3, 4});
                         }),
              HasSubstr("a single direction"));
  EXPECT_THAT(message_of(ErrorKind::kInput,
                         [] { const Resampling made(scan_of(2, 2), std::vector<double>(4, kNone)); }),
              HasSubstr("0 of its 2 projections"));
}

}  // namespace
}  // namespace annulus
