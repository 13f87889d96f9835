#include <annulus/core/error.hpp>
#include <annulus/plan/splitting.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "plan_fixtures.hpp"

namespace annulus {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

struct Case {
  Range degrees;
  double low, high, cut;  // degrees
};

class AzimuthWindows : public ::testing::TestWithParam<Case> {};

TEST_P(AzimuthWindows, KeepTheCutOutside) {
  const Case& c = GetParam();
  const AzimuthWindow window = azimuth_window(c.degrees);
  EXPECT_NEAR(window.low, c.low * kDegree, 1e-12);
  EXPECT_NEAR(window.high, c.high * kDegree, 1e-12);
  EXPECT_NEAR(window.cut, c.cut * kDegree, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(
    Ranges, AzimuthWindows,
    ::testing::Values(Case{{-30, 100}, -30, 100, -180}, Case{{-180, 180}, -180, 180, -180},
                      Case{{0, 180}, 0, 180, -180}, Case{{170, -170}, 170, 190, 0},
                      Case{{170, 190}, 170, 190, 0}, Case{{90, 350}, 90, 350, 0},
                      Case{{-190, -170}, 170, 190, 0},
                      // Both 0 and 180 are inside: the cut goes to the middle of what is out.
                      Case{{-100, 240}, -100, 240, -110}, Case{{-100, -120}, -100, 240, -110}));

// By hand: on a detector that is not turned the azimuth is that of rows over columns, counted from the beam.
TEST(AzimuthWindow, EveryPixelInsideCountsWhereverTheAzimuthsJump) {
  const Shape shape{12, 10};
  const Geometry geometry = testing::small_geometry(shape);
  for (const Range range : {Range{100, 80}, Range{10, 370}, Range{20, 10}, Range{90, 440}, Range{-100, -120},
                            Range{170, -170}, Range{-30, 100}, Range{359, 358}, Range{180, 540}}) {
    std::int64_t expected = 0;
    for (std::uint32_t row = 0; row < shape.rows; ++row) {
      for (std::uint32_t col = 0; col < shape.cols; ++col) {
        const double degrees =
            std::atan2(row + 0.5 - 0.5 * shape.rows, col + 0.5 - 0.5 * shape.cols) / kDegree;
        const double width = range.high > range.low ? range.high - range.low : range.high - range.low + 360;
        const double behind = degrees - range.low - 360 * std::floor((degrees - range.low) / 360);
        expected += behind <= width ? 1 : 0;
      }
    }
    for (const std::uint32_t azimuth_bins : {0u, 7u}) {
      for (const int discontinuity : {0, 180}) {
        IntegrationOptions options;
        options.bins = 5;
        options.splitting = Splitting::kNo;
        options.azimuth_range = range;
        if (azimuth_bins > 0) options.azimuth_bins = azimuth_bins;
        options.chi_discontinuity = azimuth_bins == 0 ? 180 : discontinuity;
        const Plan plan = build_plan(geometry, options, {}, {"test", shape});
        const std::int64_t weights =
            std::accumulate(plan.totals.count.begin(), plan.totals.count.end(), std::int64_t{0});
        EXPECT_EQ(weights >> plan.weight_bits, expected)
            << range.low << " to " << range.high << ", " << azimuth_bins << " bins, " << discontinuity;
      }
    }
  }
}

TEST(AzimuthWindow, RefusesEmptyAndTooWideRanges) {
  EXPECT_THROW(azimuth_window({10, 10}), Error);
  EXPECT_THROW(azimuth_window({-200, 200}), Error);
  EXPECT_THROW(azimuth_window({0, std::numeric_limits<double>::quiet_NaN()}), Error);
}

}  // namespace
}  // namespace annulus
