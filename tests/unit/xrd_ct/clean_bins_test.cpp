#include <annulus/xrd_ct/clean_bins.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "message_of.hpp"

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kGap = std::numeric_limits<float>::quiet_NaN();

// 20 bins, more than are cleaned together: [angle][position][bin] = 100 angle + 10 position + bin.
Sinogram numbered(std::size_t angles, std::size_t positions) {
  Sinogram sinogram(angles, positions, 20);
  for (std::size_t a = 0; a < angles; ++a) {
    for (std::size_t p = 0; p < positions; ++p) {
      for (std::size_t b = 0; b < 20; ++b) sinogram.at(a, p)[b] = static_cast<float>(100 * a + 10 * p + b);
    }
  }
  return sinogram;
}

std::vector<std::uint8_t> gaps(const Sinogram& sinogram) {
  std::vector<std::uint8_t> has(sinogram.bins);
  for (std::size_t i = 0; i < sinogram.values.size(); ++i) {
    if (sinogram.values[i] != sinogram.values[i]) has[i % sinogram.bins] = 1;
  }
  return has;
}

TEST(CleanBins, FillsGapsAlongTheTranslation) {
  const Sinogram whole = numbered(3, 4);
  Sinogram sinogram = whole;
  sinogram.at(1, 2)[3] = sinogram.at(2, 1)[17] = kGap;
  const CleanedBins cleaned = clean_bins(sinogram, gaps(sinogram), {});
  EXPECT_EQ(cleaned.filled_values, 2U);
  EXPECT_EQ(sinogram.values, whole.values);
}

TEST(CleanBins, AProjectionWithoutAValueInABinLiesBetweenItsNeighbours) {
  const Sinogram whole = numbered(4, 3);
  Sinogram sinogram = whole;
  for (std::size_t position = 0; position < 3; ++position)
    sinogram.at(1, position)[18] = sinogram.at(2, position)[18] = sinogram.at(3, position)[2] = kGap;
  const CleanedBins cleaned = clean_bins(sinogram, gaps(sinogram), {});
  EXPECT_EQ(cleaned.filled_values, 9U);
  for (std::size_t position = 0; position < 3; ++position) {
    EXPECT_FLOAT_EQ(sinogram.at(1, position)[18], whole.at(1, position)[18]);
    EXPECT_FLOAT_EQ(sinogram.at(2, position)[18], whole.at(2, position)[18]);
    EXPECT_EQ(sinogram.at(3, position)[2], whole.at(2, position)[2]);  // the last one: as the one before
  }
}

TEST(CleanBins, ALostProjectionLiesBetweenItsNeighboursByTheirAngles) {
  Sinogram sinogram = numbered(3, 2);
  for (std::size_t position = 0; position < 2; ++position) sinogram.at(1, position)[4] = kGap;
  Cleaning cleaning;
  cleaning.angles = {0, 9, 10};
  clean_bins(sinogram, gaps(sinogram), cleaning);
  EXPECT_FLOAT_EQ(sinogram.at(1, 0)[4], 4 + 0.9F * 200);
  EXPECT_FLOAT_EQ(sinogram.at(1, 1)[4], 14 + 0.9F * 200);
}

TEST(CleanBins, BinsWithoutAnyValueAreZeroAndNamed) {
  Sinogram sinogram = numbered(2, 3);
  for (std::size_t cell = 0; cell < 6; ++cell) sinogram.values[cell * 20 + 19] = kGap;
  EXPECT_THAT(clean_bins(sinogram, gaps(sinogram), {}).empty_bins, ElementsAre(19));
  EXPECT_EQ(sinogram.at(1, 1)[19], 0);
  EXPECT_EQ(sinogram.at(1, 1)[18], 128);
}

TEST(CleanBins, ScalesProjections) {
  Sinogram sinogram = numbered(2, 3);
  Cleaning cleaning;
  cleaning.factors = {1, 0.5};
  clean_bins(sinogram, gaps(sinogram), cleaning);
  EXPECT_EQ(sinogram.at(0, 1)[5], 15);
  EXPECT_EQ(sinogram.at(1, 1)[5], 57.5F);
}

TEST(CleanBins, SubtractsALineThroughTheAir) {
  Sinogram sinogram = numbered(2, 5);
  sinogram.at(1, 2)[7] += 3;
  Cleaning cleaning;
  cleaning.subtract_air = 1;
  clean_bins(sinogram, gaps(sinogram), cleaning);
  EXPECT_EQ(sinogram.at(1, 2)[7], 3);
  EXPECT_EQ(sinogram.at(1, 1)[7], 0);
}

TEST(AirFactors, MakeTheAirOfAllProjectionsTheirMean) {
  Sinogram totals(2, 4, 1);
  totals.values = {2, 9, 9, 4, 1, 9, 9, 1};
  const std::vector<double> degrees = {0, 90};
  EXPECT_THAT(air_factors(totals, 1, degrees), ElementsAre(4.0 / 6, 4.0 / 2));
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { air_factors(totals, 2, degrees); }), HasSubstr("`air`"));
  totals.values[4] = totals.values[7] = 0;
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { air_factors(totals, 1, degrees); }),
              HasSubstr("at 90 degrees"));
}

}  // namespace
}  // namespace annulus
