// Shares of cakes against areas computed another way: by integrals along the edges of a pixel, in long
// double.
#include <annulus/core/error.hpp>
#include <annulus/plan/plan_cache.hpp>
#include <annulus/plan/splitting.hpp>

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "plan_fixtures.hpp"
#include "scratch_folder.hpp"

namespace annulus::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kPi = std::numbers::pi;
using Shares = std::map<std::uint32_t, double>;

struct CakeCase {
  Shape shape{25, 31};
  IntegrationOptions options;
  PixelPositions positions;
  BinAxis radial, azimuth;

  CakeCase(Splitting splitting, std::uint64_t seed, std::uint32_t radial_bins, std::uint32_t azimuth_bins)
      : CakeCase(splitting, random_place(seed), radial_bins, azimuth_bins) {}

  CakeCase(Splitting splitting, const Geometry& geometry, std::uint32_t radial_bins,
           std::uint32_t azimuth_bins) {
    options.splitting = splitting;
    options.unit = Unit::kTwoThetaRad;
    options.azimuth_bins = azimuth_bins;
    positions = locate_pixels(geometry, shape, options, kDefaultCut, 1);
    const std::vector<std::uint8_t> none(shape.size(), 0);
    const Range radii = radial_extent(positions, splitting, none, 1);
    const AzimuthExtent azimuths = azimuth_extent(positions, splitting, none, 1);
    radial = {radii.low, radii.high * (1 + 0x1p-23), radial_bins};
    azimuth = {azimuths.range.low, azimuths.range.high, azimuth_bins, azimuths.on_cut};
  }

  static Geometry random_place(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    return random_geometry(random, {25, 31});
  }

  Shares shares(std::uint32_t row, std::uint32_t col) const {
    std::vector<Share> list;
    make_splitter(positions, {radial, azimuth}, options.splitting)->split(row, col, list);
    Shares result;
    for (const Share& share : list) {
      EXPECT_TRUE(result.empty() || result.rbegin()->first < share.bin) << "bins ascend";
      EXPECT_GT(share.share, 0);
      result[share.bin] = share.share;
    }
    return result;
  }
};

// The integral of a number that is clamped to [0, 1] while it goes evenly from `from` to `to`, over a length.
long double clamped_integral(long double from, long double to, long double length) {
  const auto primitive = [](long double t) { return t <= 0 ? 0.0L : t >= 1 ? t - 0.5L : t * t / 2; };
  if (std::abs(to - from) < 1e-12L) return length * std::clamp((from + to) / 2, 0.0L, 1.0L);
  return length * (primitive(to) - primitive(from)) / (to - from);
}

// Area of a polygon within the unit square at (x, y): the integral of its height in that row along its edges.
long double area_in_square(const std::array<long double, 4>& xs, const std::array<long double, 4>& ys,
                           long double x, long double y) {
  long double area = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t j = (i + 1) % 4;
    if (xs[i] == xs[j]) continue;
    const long double left = std::clamp(xs[i], x, x + 1), right = std::clamp(xs[j], x, x + 1);
    const auto height = [&](long double at) {
      return ys[i] + (ys[j] - ys[i]) * (at - xs[i]) / (xs[j] - xs[i]) - y;
    };
    area += clamped_integral(height(left), height(right), right - left);
  }
  return std::abs(area);
}

TEST(CakeSplitting, FullSharesAreAreasOfTheQuadrilateral) {
  int several = 0;
  for (const std::uint64_t seed : {12, 31, 32}) {
    const CakeCase example(Splitting::kFull, seed, 40, 36);
    for (std::uint32_t row = 0; row < example.shape.rows; ++row) {
      for (std::uint32_t col = 0; col < example.shape.cols; ++col) {
        if (example.positions.corner_azimuths(row, col).on_cut) continue;  // another test
        std::array<long double, 4> xs{}, ys{};
        const auto corners = example.positions.corners(row, col);
        for (std::size_t i = 0; i < 4; ++i) {
          xs[i] =
              (static_cast<long double>(example.positions.corner_radial[corners[i]]) - example.radial.low) /
              example.radial.width();
          ys[i] =
              (static_cast<long double>(example.positions.corner_azimuth[corners[i]]) - example.azimuth.low) /
              example.azimuth.width();
        }
        Shares expected;
        long double total = 0;
        for (std::uint32_t j = 0; j < 36; ++j) {
          for (std::uint32_t i = 0; i < 40; ++i) {
            const long double area = area_in_square(xs, ys, i, j);
            total += area;
            if (area > 1e-12L) expected[j * 40 + i] = static_cast<double>(area);
          }
        }
        const Shares shares = example.shares(row, col);
        double sum = 0;
        for (const auto& [bin, share] : shares) {
          EXPECT_NEAR(share, expected[bin] / static_cast<double>(total), 1e-7)
              << "pixel " << row << ", " << col << ", bin " << bin;
          sum += share;
        }
        for (const auto& [bin, area] : expected) {
          EXPECT_TRUE(shares.contains(bin) || area / static_cast<double>(total) < 1e-7) << bin;
        }
        EXPECT_NEAR(sum, 1, 1e-12);
        several += shares.size() > 3;
      }
    }
  }
  EXPECT_GT(several, 300) << "pixels that touch bins in both directions";
}

// The overlap of an interval with a bin on a circle of `turn`, as a share of the interval.
long double circular_overlap(long double low, long double high, long double bin, long double turn) {
  long double overlap = 0;
  for (int turns = -1; turns <= 1; ++turns) {
    overlap += std::max(0.0L, std::min(high + turns * turn, bin + 1) - std::max(low + turns * turn, bin));
  }
  return overlap / (high - low);
}

TEST(CakeSplitting, BoundingBoxSharesAreOverlapsOfRectanglesThatGoOnBehindTheCut) {
  // A whole turn, so that nothing is left over: pixels on the cut have shares at both ends.
  int on_both_sides = 0;
  for (const double shift : {0.2e-4, 0.9e-4, -0.6e-4}) {
    Geometry geometry = small_geometry({25, 31});
    geometry.poni1 += shift;
    geometry.poni2 -= 2 * shift;
    CakeCase example(Splitting::kBoundingBox, geometry, 300, 90);
    example.radial.low = 0;
    example.azimuth = {-kPi, kPi, 90, true};
    for (std::uint32_t row = 0; row < example.shape.rows; ++row) {
      for (std::uint32_t col = 0; col < example.shape.cols; ++col) {
        const std::size_t pixel = row * example.shape.cols + col;
        const auto in_bins = [](long double value, const BinAxis& axis) {
          return (value - axis.low) / axis.width();
        };
        const long double r = example.positions.radial[pixel], dr = example.positions.radial_reach(row, col);
        const long double a = example.positions.azimuth[pixel],
                          da = example.positions.azimuth_reach(row, col);
        if (r - dr < 0) continue;  // what is below 0 goes to the first bin
        const Shares shares = example.shares(row, col);
        double sum = 0;
        bool first = false, last = false;
        for (const auto& [bin, share] : shares) {
          const long double azimuthal = circular_overlap(in_bins(a - da, example.azimuth),
                                                         in_bins(a + da, example.azimuth), bin / 300, 90);
          const long double radial = circular_overlap(in_bins(r - dr, example.radial),
                                                      in_bins(r + dr, example.radial), bin % 300, 1e9L);
          EXPECT_NEAR(share, static_cast<double>(azimuthal * radial), 1e-9)
              << "pixel " << row << ", " << col << ", bin " << bin;
          sum += share;
          first |= bin / 300 == 0;
          last |= bin / 300 == 89;
        }
        EXPECT_NEAR(sum, 1, 1e-9);
        on_both_sides += first && last;
      }
    }
  }
  EXPECT_GT(on_both_sides, 5);
}

TEST(CakeSplitting, PixelsOnTheDiscontinuityHaveOneShareABin) {
  // Both parts of such a pixel fall into the one azimuthal bin, or into the first and the last of three.
  int on_cut = 0, both_ends = 0;
  for (const std::uint32_t azimuth_bins : {1u, 3u}) {
    const CakeCase example(Splitting::kFull, small_geometry({25, 31}), 40, azimuth_bins);
    ASSERT_TRUE(example.azimuth.closed);
    for (std::uint32_t row = 0; row < example.shape.rows; ++row) {
      for (std::uint32_t col = 0; col < example.shape.cols; ++col) {
        const auto corners = example.positions.corner_azimuths(row, col);
        if (!corners.on_cut || corners.around_beam) continue;
        const Shares shares = example.shares(row, col);
        double sum = 0;
        for (const auto& [bin, share] : shares) sum += share;
        EXPECT_NEAR(sum, 1, 1e-12) << row << ", " << col;
        ++on_cut;
        both_ends += shares.begin()->first < 40 && shares.rbegin()->first >= 80;
      }
    }
  }
  EXPECT_GT(on_cut, 20);
  EXPECT_GT(both_ends, 10);
}

TEST(CakeSplitting, NothingHappensAtTheDiscontinuity) {
  // Turning the detector by ten bins turns the cake by ten bins, although other pixels then lie on the cut.
  const Shape shape{60, 60};
  Geometry geometry = small_geometry(shape);
  geometry.poni1 += 1.3e-5;
  geometry.poni2 -= 2.1e-5;
  for (const Splitting splitting : {Splitting::kBoundingBox, Splitting::kFull}) {
    IntegrationOptions options;
    options.splitting = splitting;
    options.bins = 20;
    options.azimuth_bins = 36;
    options.azimuth_range = Range{-180, 180};
    options.radial_range = Range{0.4, 1.6};
    const Plan plain = build_plan(geometry, options, {}, {"test", shape});
    Geometry turned = geometry;
    turned.rot3 -= 100 * kPi / 180;
    const Plan other = build_plan(turned, options, {}, {"test", shape});
    for (std::uint32_t bin = 0; bin < plain.bins(); ++bin) {
      const std::uint32_t there[] = {(bin + 10 * 20) % 720, (bin + 26 * 20) % 720};  // whichever way it turns
      const double count = std::ldexp(static_cast<double>(plain.totals.count[bin]), -plain.weight_bits);
      double nearest = 1;
      for (const std::uint32_t at : there) {
        nearest = std::min(nearest, std::abs(count - std::ldexp(static_cast<double>(other.totals.count[at]),
                                                                -other.weight_bits)));
      }
      EXPECT_LT(nearest, 2e-3) << name_of(splitting) << ", bin " << bin;
    }
  }
}

TEST(CakeSplitting, CentresOfASmallDetectorFallIntoTheirQuadrants) {
  const Shape shape{4, 4};
  IntegrationOptions options;
  options.splitting = Splitting::kNo;
  options.bins = 3;
  options.azimuth_bins = 4;
  options.azimuth_range = Range{-180, 180};
  const Plan plan = build_plan(small_geometry(shape), options, {}, {"test", shape});
  ASSERT_EQ(plan.bins(), 12u);
  for (std::uint32_t row = 0; row < 4; ++row) {
    for (std::uint32_t col = 0; col < 4; ++col) {
      // Azimuth grows from the columns' axis to the rows': -180, -90, 0, 90 begin the bins.
      const std::uint32_t quadrant = row < 2 ? (col < 2 ? 0 : 1) : (col < 2 ? 3 : 2);
      const std::uint32_t first = plan.matrix.first[row * 4 + col];
      ASSERT_EQ(plan.matrix.first[row * 4 + col + 1], first + 1);
      EXPECT_EQ(plan.matrix.bin[first] / 3, quadrant) << row << ", " << col;
      EXPECT_EQ(plan.matrix.weight[first], 1u << plan.weight_bits);
    }
  }
}

TEST(CakeSplitting, BinsAreAzimuthMajorAndAxesAreInDegrees) {
  const Shape shape{40, 50};
  IntegrationOptions options;
  options.bins = 7;
  options.azimuth_bins = 5;
  options.azimuth_range = Range{-50, 100};
  options.radial_range = Range{0.2, 1.0};
  const Plan plan = build_plan(small_geometry(shape), options, {}, {"test", shape});
  EXPECT_EQ(plan.bins(), 35u);
  ASSERT_EQ(plan.radial().bins(), 7u);
  ASSERT_EQ(plan.axes.size(), 2u);
  const Axis& azimuths = plan.axes[1];
  EXPECT_EQ(azimuths.kind, AxisKind::kAzimuth);
  EXPECT_EQ(azimuths.units, "degrees");
  ASSERT_EQ(azimuths.bins(), 5u);
  ASSERT_EQ(azimuths.edges.size(), 6u);
  EXPECT_NEAR(azimuths.edges.front(), -50, 1e-9);
  EXPECT_NEAR(azimuths.edges.back(), 100, 2e-5);
  EXPECT_NEAR(azimuths.centres[0], -35, 1e-5);
  // Bin 2 * 7 + 3 is at azimuth 25, radius 0.6: straight to the right and a little up from the beam.
  const double radius = 0.1 * std::tan(0.6 * kPi / 180), azimuth = 25 * kPi / 180;
  const auto row = static_cast<std::uint32_t>(20 + radius * std::sin(azimuth) / 1e-4);
  const auto col = static_cast<std::uint32_t>(25 + radius * std::cos(azimuth) / 1e-4);
  const std::size_t pixel = row * shape.cols + col;
  bool found = false;
  for (std::uint32_t entry = plan.matrix.first[pixel]; entry < plan.matrix.first[pixel + 1]; ++entry) {
    found |= plan.matrix.bin[entry] == 2 * 7 + 3;
  }
  EXPECT_TRUE(found);
}

TEST(CakeSplitting, DiscontinuityDecidesWhereAzimuthsBegin) {
  const Shape shape{40, 50};
  IntegrationOptions options;
  options.bins = 10;
  options.azimuth_bins = 6;
  const auto edges = [&] {
    const Plan plan = build_plan(small_geometry(shape), options, {}, {"test", shape});
    return std::pair(plan.axes.at(1).low(), plan.axes[1].high());
  };
  EXPECT_NEAR(edges().first, -180, 1e-3);
  EXPECT_NEAR(edges().second, 180, 1e-3);
  options.chi_discontinuity = 0;
  EXPECT_NEAR(edges().first, 0, 1e-3);
  EXPECT_NEAR(edges().second, 360, 1e-3);
  options.azimuth_range = Range{-100, -50};
  EXPECT_NEAR(edges().first, 260, 1e-9);
  EXPECT_NEAR(edges().second, 310, 1e-4);
  options.azimuth_range = Range{350, 20};  // crosses 0
  EXPECT_NEAR(edges().first, 350, 1e-9);
  EXPECT_NEAR(edges().second, 380, 1e-4);
  options.chi_discontinuity = 180;
  EXPECT_NEAR(edges().first, -10, 1e-9);
  options.azimuth_range = Range{170, -170};
  EXPECT_NEAR(edges().first, 170, 1e-9);
  EXPECT_NEAR(edges().second, 190, 1e-4);
}

TEST(CakeSplitting, WindowsOnEitherSideOfTheCutSeeTheSamePixels) {
  const Shape shape{40, 50};
  IntegrationOptions options;
  options.bins = 10;
  options.azimuth_bins = 3;
  options.azimuth_range = Range{200, 260};
  options.radial_range = Range{0.5, 1.0};  // near the beam boxes reach from the window over the cut
  for (const Splitting splitting : {Splitting::kNo, Splitting::kBoundingBox, Splitting::kFull}) {
    options.splitting = splitting;
    options.chi_discontinuity = 180;
    const Plan low = build_plan(small_geometry(shape), options, {}, {"test", shape});
    options.chi_discontinuity = 0;
    const Plan high = build_plan(small_geometry(shape), options, {}, {"test", shape});
    EXPECT_NEAR(high.axes.at(1).centres[0] - low.axes.at(1).centres[0], 360, 1e-4);
    for (std::uint32_t bin = 0; bin < low.bins(); ++bin) {
      EXPECT_NEAR(static_cast<double>(low.totals.count[bin]), static_cast<double>(high.totals.count[bin]),
                  2e3)
          << name_of(splitting) << ", bin " << bin;  // of 2^23 a pixel
    }
  }
}

TEST(CakePlan, RefusesWhatMakesNoCake) {
  const Shape shape{20, 20};
  const auto message = [&](auto change) {
    IntegrationOptions options;
    change(options);
    try {
      build_plan(small_geometry(shape), options, {}, {"test", shape});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kPlan);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message([](auto& o) { o.azimuth_bins = 0; }), HasSubstr("`npt_azim`"));
  EXPECT_THAT(message([](auto& o) {
                o.bins = 100000;
                o.azimuth_bins = 100000;
              }),
              HasSubstr("100000 x 100000 bins are 10000000000"));
  EXPECT_THAT(message([](auto& o) { o.chi_discontinuity = 0; }), HasSubstr("means nothing"));
  EXPECT_THAT(message([](auto& o) {
                o.azimuth_bins = 3;
                o.chi_discontinuity = 90;
              }),
              HasSubstr("90 degrees"));
}

TEST(CakePlan, IsKeptOnDiskAndLoadedAsItWas) {
  const ScratchFolder folder;
  const Shape shape{30, 40};
  IntegrationOptions options;
  options.bins = 12;
  options.azimuth_bins = 9;
  options.splitting = Splitting::kFull;
  const FrameProperties frames{"test", shape};
  const CachedPlan built = cached_plan(folder.path(), small_geometry(shape), options, {}, frames, 1);
  const CachedPlan loaded = cached_plan(folder.path(), small_geometry(shape), options, {}, frames, 1);
  EXPECT_FALSE(built.loaded);
  ASSERT_TRUE(loaded.loaded) << loaded.note;
  EXPECT_EQ(loaded.plan, built.plan);
  options.chi_discontinuity = 0;
  EXPECT_FALSE(cached_plan(folder.path(), small_geometry(shape), options, {}, frames, 1).loaded);
}

}  // namespace
}  // namespace annulus::testing
