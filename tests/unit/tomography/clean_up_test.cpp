#include <annulus/tomography/clean_up.hpp>
#include <annulus/tomography/filtered_back_projection.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "message_of.hpp"
#include "phantom.hpp"

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
Sinogram of_rows(const std::vector<std::vector<float>>& rows) {
  Sinogram sinogram(rows.size(), rows[0].size(), 1);
  for (std::size_t angle = 0; angle < rows.size(); ++angle) {
    std::ranges::copy(rows[angle], sinogram.at(angle, 0));
  }
  return sinogram;
}

double deviation_of(const ScanGeometry& scan, const Sinogram& sinogram) {
  const FilteredBackProjection reconstruction(scan, {});
  Tomogram tomogram(reconstruction.size(), sinogram.bins);
  reconstruction.reconstruct(sinogram.view(), tomogram.view());
  return deviation_from(tomogram, kDiscs);
}

TEST(FillMissing, InterpolatesAlongTheTranslation) {
  Sinogram sinogram =
      of_rows({{kNan, 2, kNan, kNan, 8, kNan}, {1, 2, 3, 4, 5, 6}, {kNan, kNan, kNan, 4, kNan, kNan}});
  const FilledCells filled = fill_missing(sinogram);
  EXPECT_EQ(filled.cells, 9);
  EXPECT_TRUE(filled.empty_bins.empty());
  EXPECT_THAT(sinogram.values, ElementsAre(2, 2, 4, 6, 8, 8, 1, 2, 3, 4, 5, 6, 4, 4, 4, 4, 4, 4));
}

TEST(FillMissing, NamesEmptyBinsAndRefusesEmptyProjections) {
  Sinogram sinogram = random_sinogram(4, 5, 3, 1);
  for (std::size_t cell = 0; cell < 20; ++cell) sinogram.values[cell * 3 + 1] = kNan;
  EXPECT_THAT(fill_missing(sinogram, 3).empty_bins, ElementsAre(1));
  EXPECT_EQ(sinogram.at(2, 2)[1], 0);
  for (std::size_t position = 0; position < 5; ++position) sinogram.at(2, position)[0] = kNan;
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { fill_missing(sinogram); }),
              HasSubstr("projection 2 has no value in bin 0"));
}

TEST(FillMissing, LeavesATomogramNearlyAsItWas) {
  const ScanGeometry scan{even_angles(181, std::numbers::pi), 101, 50};
  Sinogram sinogram = scan_discs(kDiscs, scan);
  const double before = deviation_of(scan, sinogram);
  Noise noise(5);
  for (float& value : sinogram.values) {
    if (noise() < 0.02) value = kNan;
  }
  fill_missing(sinogram);
  EXPECT_LT(deviation_of(scan, sinogram), before + 0.02);
}

TEST(Air, IsSubtracted) {
  Sinogram sinogram = of_rows({{1, 1, 5, 9, 6, 2, 2}, {0, 0, 3, 3, 3, 0, 0}});
  normalise_by_air(sinogram, AirUse::kSubtract, 2);
  // The line passes 1 at position 0.5 and 2 at 5.5.
  EXPECT_NEAR(sinogram.at(0, 0)[0], 1 - (1 - 0.1), 1e-6);
  EXPECT_NEAR(sinogram.at(0, 3)[0], 9 - 1.5, 1e-6);
  EXPECT_NEAR(sinogram.at(0, 6)[0], 2 - 2.1, 1e-6);
  EXPECT_EQ(sinogram.at(1, 3)[0], 3);
}

TEST(Air, ScalesProjectionsToOneBeam) {
  Sinogram sinogram = random_sinogram(3, 8, 5, 2);
  const Sinogram original = sinogram;
  const double beam[] = {0.5, 1, 2};
  for (std::size_t angle = 0; angle < 3; ++angle) {
    for (std::size_t position = 0; position < 8; ++position) {
      for (std::size_t bin = 0; bin < 5; ++bin) {
        float& cell = sinogram.at(angle, position)[bin];
        cell = static_cast<float>((position < 2 || position > 5 ? 1.0 : original.at(angle, position)[bin]) *
                                  beam[angle]);
      }
    }
  }
  normalise_by_air(sinogram, AirUse::kScale, 2);
  for (std::size_t angle = 0; angle < 3; ++angle) {
    EXPECT_NEAR(sinogram.at(angle, 0)[4], 3.5 / 3, 1e-6);
    EXPECT_NEAR(sinogram.at(angle, 4)[2], original.at(angle, 4)[2] * 3.5 / 3, 1e-6);
  }
}

TEST(Air, IsRefusedWhereThereIsNone) {
  Sinogram sinogram(3, 8, 1);
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { normalise_by_air(sinogram, AirUse::kScale, 2); }),
              HasSubstr("projection 0"));
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { normalise_by_air(sinogram, AirUse::kScale, 0); }),
              HasSubstr("`air`"));
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { normalise_by_air(sinogram, AirUse::kSubtract, 4); }),
              HasSubstr("`air`"));
}

TEST(Stripes, AreFoundAndLeaveNoRings) {
  const ScanGeometry scan{even_angles(181, std::numbers::pi), 101, 50};
  Sinogram sinogram = scan_discs(kDiscs, scan);
  Noise noise(6);
  for (float& value : sinogram.values) value += static_cast<float>(0.4 * (noise() - 0.5));
  const Sinogram clean = sinogram;
  const double before = deviation_of(scan, sinogram);
  const std::vector<std::pair<std::size_t, float>> stripes = {{20, 2}, {21, 2}, {44, -3}, {70, 1.5}};
  for (const auto& [position, height] : stripes) {
    for (std::size_t angle = 0; angle < 181; ++angle) sinogram.at(angle, position)[0] += height;
  }
  const double rings = deviation_of(scan, sinogram);
  EXPECT_GT(rings, 2 * before);
  EXPECT_GE(suppress_stripes(sinogram), 3);
  EXPECT_LT(deviation_of(scan, sinogram), before + 0.2 * (rings - before));
  for (const auto& [position, height] : stripes) {
    EXPECT_NEAR(sinogram.at(90, position)[0], clean.at(90, position)[0], 0.3) << position;
  }
}

TEST(Stripes, ThatAreNotThereAreHardlyFound) {
  const ScanGeometry scan{even_angles(181, std::numbers::pi), 101, 50};
  Sinogram sinogram = scan_discs(kDiscs, scan);
  Noise noise(7);
  for (float& value : sinogram.values) value += static_cast<float>(2 * (noise() - 0.5));
  const double before = deviation_of(scan, sinogram);
  EXPECT_LE(suppress_stripes(sinogram), 2);
  EXPECT_LT(deviation_of(scan, sinogram), 1.05 * before);
}

TEST(Stripes, AreTheSameForEveryNumberOfThreads) {
  Sinogram one = random_sinogram(30, 40, 9, 8), three = one;
  StripeOptions options;
  options.threshold = 1;
  options.threads = 1;
  const std::size_t found = suppress_stripes(one, options);
  EXPECT_GT(found, 0);
  options.threads = 3;
  EXPECT_EQ(suppress_stripes(three, options), found);
  EXPECT_EQ(one.values, three.values);
  options.width = 0;
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { suppress_stripes(one, options); }),
              HasSubstr("`stripe_width`"));
}

}  // namespace
}  // namespace annulus
