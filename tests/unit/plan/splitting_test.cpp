// Shares against overlaps and areas computed another way: by clipping polygons, in long double.
#include <annulus/plan/splitting.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "plan_fixtures.hpp"

namespace annulus::testing {
namespace {

struct SplitCase {
  Shape shape{25, 31};
  Geometry geometry;
  IntegrationOptions options;
  PixelPositions positions;
  BinAxis axis;

  SplitCase(Splitting splitting, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    geometry = random_geometry(random, shape);
    options.splitting = splitting;
    options.unit = Unit::kTwoThetaRad;
    positions = locate_pixels(geometry, shape, options, kDefaultCut, 1);
    const Range extent = radial_extent(positions, splitting, std::vector<std::uint8_t>(shape.size(), 0), 1);
    axis = {extent.low, extent.high * (1 + 0x1p-23), 60};
  }
};

std::map<std::uint32_t, double> shares_of(const Splitter& splitter, std::uint32_t row, std::uint32_t col) {
  std::vector<Share> shares;
  splitter.split(row, col, shares);
  std::map<std::uint32_t, double> by_bin;
  for (const Share& share : shares) by_bin[share.bin] += share.share;
  return by_bin;
}

TEST(Splitting, BoundingBoxSharesAreOverlapsOfIntervals) {
  const SplitCase example(Splitting::kBoundingBox, 11);
  const auto splitter = make_splitter(example.positions, {example.axis}, Splitting::kBoundingBox);
  for (std::uint32_t row = 0; row < example.shape.rows; ++row) {
    for (std::uint32_t col = 0; col < example.shape.cols; ++col) {
      const long double centre = example.positions.radial[row * example.shape.cols + col];
      const long double reach = example.positions.radial_reach(row, col);
      const auto shares = shares_of(*splitter, row, col);
      double total = 0;
      for (const auto& [bin, share] : shares) {
        const long double left = example.axis.low + bin * static_cast<long double>(example.axis.width());
        const long double right = left + example.axis.width();
        long double overlap = std::min(right, centre + reach) - std::max(left, centre - reach);
        if (bin == 0) overlap += std::max(0.0L, left - (centre - reach));
        EXPECT_NEAR(share, static_cast<double>(overlap / (2 * reach)), 1e-9);
        total += share;
      }
      EXPECT_NEAR(total, 1, 1e-12);
    }
  }
}

using Point = std::pair<long double, long double>;

// The part of a polygon on one side of a vertical line (Sutherland and Hodgman).
std::vector<Point> clip(const std::vector<Point>& polygon, long double x, bool keep_right) {
  std::vector<Point> kept;
  const auto inside = [&](const Point& p) { return keep_right ? p.first >= x : p.first <= x; };
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point& from = polygon[i];
    const Point& to = polygon[(i + 1) % polygon.size()];
    if (inside(from)) kept.push_back(from);
    if (inside(from) != inside(to)) {
      const long double t = (x - from.first) / (to.first - from.first);
      kept.push_back({x, from.second + t * (to.second - from.second)});
    }
  }
  return kept;
}

long double area(const std::vector<Point>& polygon) {
  long double twice = 0;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point& from = polygon[i];
    const Point& to = polygon[(i + 1) % polygon.size()];
    twice += from.first * to.second - to.first * from.second;
  }
  return std::abs(twice / 2);
}

TEST(Splitting, FullSharesAreAreasOfTheQuadrilateral) {
  const SplitCase example(Splitting::kFull, 12);
  const auto splitter = make_splitter(example.positions, {example.axis}, Splitting::kFull);
  int checked = 0;
  for (std::uint32_t row = 0; row < example.shape.rows; ++row) {
    for (std::uint32_t col = 0; col < example.shape.cols; ++col) {
      std::vector<Point> polygon;
      long double low = 10, high = -10;
      for (const std::size_t corner : example.positions.corners(row, col)) {
        polygon.push_back(
            {example.positions.corner_radial[corner], example.positions.corner_azimuth[corner]});
        low = std::min(low, polygon.back().second);
        high = std::max(high, polygon.back().second);
      }
      if (high - low > 3) continue;  // on the cut: another test
      const auto shares = shares_of(*splitter, row, col);
      double sum = 0;
      for (const auto& [bin, share] : shares) {
        const long double left = example.axis.low + bin * static_cast<long double>(example.axis.width());
        const auto part = clip(clip(polygon, left, true), left + example.axis.width(), false);
        EXPECT_NEAR(share, static_cast<double>(area(part) / area(polygon)), 1e-7)
            << "pixel " << row << ", " << col << ", bin " << bin;
        sum += share;
      }
      EXPECT_NEAR(sum, 1, 1e-12);
      checked += shares.size() > 1;
    }
  }
  EXPECT_GT(checked, 300) << "pixels that touch several bins";
}

TEST(Splitting, PixelOutsideTheRangeHasNoShares) {
  SplitCase example(Splitting::kBoundingBox, 13);
  example.axis = {10, 11, 5};  // radian: nothing is there
  for (const Splitting splitting : {Splitting::kNo, Splitting::kBoundingBox}) {
    const auto splitter = make_splitter(example.positions, {example.axis}, splitting);
    EXPECT_TRUE(shares_of(*splitter, 3, 3).empty());
  }
}

TEST(Splitting, PixelThatHangsOverTheEndCountsWholeInTheEndBin) {
  const SplitCase example(Splitting::kBoundingBox, 14);
  const double centre = example.positions.radial[7 * example.shape.cols + 8];
  // The range ends inside the pixel, whose whole width is one bin or less.
  const auto splitter =
      make_splitter(example.positions, {BinAxis{centre, centre + 1, 3}}, Splitting::kBoundingBox);
  EXPECT_EQ(shares_of(*splitter, 7, 8), (std::map<std::uint32_t, double>{{0, 1.0}}));
}

TEST(Splitting, RotatingTheDetectorByHalfATurnRotatesTheWindow) {
  // chi is shifted by pi when rot3 is: the same window, shifted, must select the same shares, although the
  // pixels now lie on the cut.
  const Shape shape{40, 40};
  Geometry geometry = small_geometry(shape);
  geometry.poni1 += 1e-5;
  geometry.poni2 -= 2e-5;
  Geometry turned = geometry;
  turned.rot3 += std::numbers::pi;
  for (const Splitting splitting : {Splitting::kNo, Splitting::kBoundingBox, Splitting::kFull}) {
    IntegrationOptions options;
    options.splitting = splitting;
    options.bins = 50;
    options.azimuth_range = Range{-20.3, 35.1};
    const Plan plain = build_plan(geometry, options, {}, {"test", shape});
    options.azimuth_range = Range{159.7, -144.9};
    const Plan other = build_plan(turned, options, {}, {"test", shape});
    // rot3 turns against chi: compare after turning back by comparing total counts, bin by bin.
    ASSERT_EQ(plain.bins(), other.bins());
    for (std::uint32_t bin = 0; bin < plain.bins(); ++bin) {
      EXPECT_NEAR(std::ldexp(static_cast<double>(plain.totals.count[bin]), -plain.weight_bits),
                  std::ldexp(static_cast<double>(other.totals.count[bin]), -other.weight_bits), 1e-2)
          << "splitting " << static_cast<int>(splitting) << ", bin " << bin;
    }
  }
}

}  // namespace
}  // namespace annulus::testing
