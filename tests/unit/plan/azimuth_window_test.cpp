#include <annulus/core/error.hpp>
#include <annulus/plan/splitting.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

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

// A detector that is not turned, its beam at (row, col) in pixels: the azimuths of a pixel's centre and
// corners in degrees, the corners beside the centre.
struct PixelAzimuths {
  double centre = 0;
  std::array<double, 4> corner{};  // relative to the centre, -180 to 180

  PixelAzimuths(double row, double col, double beam_row, double beam_col)
      : centre(std::atan2(row + 0.5 - beam_row, col + 0.5 - beam_col) / kDegree) {
    for (std::size_t i = 0; i < 4; ++i) {
      const double degrees = std::atan2(row + static_cast<double>(i / 2) - beam_row,
                                        col + static_cast<double>(i % 2) - beam_col) /
                             kDegree;
      corner[i] = std::remainder(degrees - centre, 360.0);
    }
  }

  // From where to where the splitting sees the pixel, relative to its centre.
  Range span(Splitting splitting) const {
    if (splitting == Splitting::kNo) return {0, 0};
    const auto [low, high] = std::minmax({corner[0], corner[1], corner[2], corner[3]});
    const double reach = std::max(-low, high);
    return splitting == Splitting::kFull ? Range{low, high} : Range{-reach, reach};
  }
};

// Degrees by which two arcs of the circle overlap, the second from `low` over `width`.
double overlap(Range arc, double low, double width) {
  double sum = 0;
  for (int turn = -3; turn <= 3; ++turn) {
    sum += std::max(0.0, std::min(arc.high, low + width + 360 * turn) - std::max(arc.low, low + 360 * turn));
  }
  return sum;
}

constexpr Splitting kSplittings[] = {Splitting::kNo, Splitting::kBoundingBox, Splitting::kFull};
constexpr Range kWindows[] = {{-180, -90}, {-180, 0},    {90, 180},   {0, 180},   {180, 270},
                              {-178, -80}, {100, 179.5}, {-175, 175}, {150, 210}, {-180, -177}};

// Whatever part of a pixel is inside makes it count, whether the window begins or ends at the discontinuity,
// beside it, or goes across.
TEST(AzimuthWindow, EveryPixelOfWhichAPartIsInsideCounts) {
  const Shape shape{31, 40};
  constexpr double kBeamRow = 15.37, kBeamCol = 19.71;
  Geometry geometry = testing::small_geometry(shape);
  geometry.poni1 = kBeamRow * geometry.detector.pixel1;
  geometry.poni2 = kBeamCol * geometry.detector.pixel2;
  for (const Splitting splitting : kSplittings) {
    for (const Range window : kWindows) {
      for (const std::uint32_t azimuth_bins : {0u, 1u, 9u}) {
        IntegrationOptions options;
        options.bins = 12;
        options.splitting = splitting;
        options.azimuth_range = window;
        if (azimuth_bins > 0) options.azimuth_bins = azimuth_bins;
        const Plan plan = build_plan(geometry, options, {}, {"test", shape});
        for (std::uint32_t pixel = 0; pixel < shape.size(); ++pixel) {
          const std::uint32_t row = pixel / shape.cols, col = pixel % shape.cols;
          const PixelAzimuths azimuths(row, col, kBeamRow, kBeamCol);
          const bool holds_beam = row == 15 && col == 19;
          const Range span = azimuths.span(splitting);
          const double inside =
              overlap({azimuths.centre + span.low, azimuths.centre + std::max(span.high, 1e-9)}, window.low,
                      window.high - window.low);
          const bool expected = inside > 0 || (holds_beam && splitting == Splitting::kFull);
          EXPECT_EQ(plan.matrix.first[pixel] != plan.matrix.first[pixel + 1], expected)
              << name_of(splitting) << ", " << window.low << " to " << window.high << ", " << azimuth_bins
              << " bins, row " << row << ", column " << col;
        }
      }
    }
  }
}

// The largest difference of a weight between two plans of one shape; all of it where one has no entry.
std::uint32_t largest_difference(const Plan& a, const Plan& b) {
  std::uint32_t largest = 0;
  for (std::size_t pixel = 0; pixel < a.pixels(); ++pixel) {
    std::map<std::uint32_t, std::array<std::uint32_t, 2>> weights;
    for (const auto& [plan, which] : {std::pair{&a, 0}, std::pair{&b, 1}}) {
      for (auto entry = plan->matrix.first[pixel]; entry < plan->matrix.first[pixel + 1]; ++entry) {
        weights[plan->matrix.bin[entry]][static_cast<std::size_t>(which)] = plan->matrix.weight[entry];
      }
    }
    for (const auto& [bin, weight] : weights) {
      largest = std::max(largest, std::max(weight[0], weight[1]) - std::min(weight[0], weight[1]));
    }
  }
  return largest;
}

// The same experiment turned around the beam, and the same cake with its azimuths counted from elsewhere.
TEST(AzimuthWindow, SharesDoNotDependOnWhereAzimuthsJump) {
  std::mt19937_64 random(5);
  const Shape shape{23, 31};
  int compared = 0;
  for (int round = 0; round < 20; ++round) {
    Geometry geometry = testing::random_geometry(random, shape);
    geometry.rot1 *= 0.01;  // so that the beam is on the detector or beside it
    geometry.rot2 *= 0.01;
    Geometry turned = geometry;
    turned.rot3 -= 50 * kDegree;  // which moves azimuths up
    for (const Splitting splitting : kSplittings) {
      for (const Range window : kWindows) {
        IntegrationOptions options;
        options.bins = 10;
        options.unit = Unit::kRadiusMm;
        options.splitting = splitting;
        options.azimuth_range = window;
        IntegrationOptions moved = options;
        moved.azimuth_range = Range{window.low + 50, window.high + 50};
        const auto build = [&](const Geometry& where, const IntegrationOptions& how) -> std::optional<Plan> {
          try {
            return build_plan(where, how, {}, {"test", shape});
          } catch (const Error&) {
            return std::nullopt;  // the window is beside the detector
          }
        };
        const auto compare = [&](const std::optional<Plan>& one, const std::optional<Plan>& other,
                                 std::uint32_t units) {
          ASSERT_EQ(one.has_value(), other.has_value());
          if (!one) return;
          ++compared;
          EXPECT_LE(largest_difference(*one, *other), units)
              << name_of(splitting) << ", " << window.low << " to " << window.high << ", round " << round;
        };
        compare(build(geometry, options), build(turned, moved), 2);
        options.azimuth_bins = moved.azimuth_bins = 5;
        const auto cake = build(geometry, options);
        // The upper end of an axis is further out by one part in 2^23 of its angle, which depends on where
        // one
        // counts from.
        constexpr std::uint32_t kThousandth = 1u << 13;
        compare(cake, build(turned, moved), kThousandth);
        options.chi_discontinuity = 0;
        compare(cake, build(geometry, options), kThousandth);
      }
    }
  }
  EXPECT_GT(compared, 500);
}

// Below and above the cut the detector is the same, mirrored: both ends of the window get the same.
TEST(AzimuthWindow, APixelThatReachesIntoBothEndsGivesToBoth) {
  const Shape shape{5, 10};
  const Geometry geometry = testing::small_geometry(shape);  // the beam is in the middle of row 2
  for (const Splitting splitting : {Splitting::kBoundingBox, Splitting::kFull}) {
    IntegrationOptions options;
    options.bins = 1;
    options.splitting = splitting;
    options.azimuth_range = Range{-170, 170};
    options.azimuth_bins = 34;
    const Plan plan = build_plan(geometry, options, {}, {"test", shape});
    const std::uint32_t pixel = 2 * shape.cols + 3;  // 1 to 2 pixels left of the beam: 153 to 207 degrees
    std::map<std::uint32_t, std::uint32_t> weight;
    for (auto entry = plan.matrix.first[pixel]; entry < plan.matrix.first[pixel + 1]; ++entry) {
      weight[plan.matrix.bin[entry]] = plan.matrix.weight[entry];
    }
    for (const std::uint32_t bin : {0u, 1u}) {
      EXPECT_GT(weight[bin], 0u) << name_of(splitting) << ", bin " << bin;
      // The upper end of the axis is one part in 2^23 further out.
      EXPECT_NEAR(weight[bin], weight[33 - bin], 8) << name_of(splitting) << ", bin " << bin;
    }
  }
}

// The beam is at a corner of four pixels, and the window ends at their edges.
TEST(AzimuthWindow, APixelThatOnlySharesAnEdgeWithTheWindowIsOutside) {
  const Shape shape{12, 10};
  Geometry geometry = testing::small_geometry(shape);
  for (const double turn : {0.0, 90.0, 30.0}) {
    geometry.rot3 = -turn * kDegree;
    for (const double low : {0.0, 90.0, 180.0, -90.0}) {
      IntegrationOptions options;
      options.bins = 5;
      options.splitting = Splitting::kFull;
      options.azimuth_range = Range{low + turn, low + turn + 90};
      EXPECT_EQ(pixels_in_use(build_plan(geometry, options, {}, {"test", shape})), 30u)
          << low << ", " << turn;
      options.azimuth_bins = 4;
      EXPECT_EQ(pixels_in_use(build_plan(geometry, options, {}, {"test", shape})), 30u)
          << low << ", " << turn;
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
