// Weights of a pixel add up to exactly 2^F, so counts are neither made nor lost, whatever the plan.
#include <annulus/core/error.hpp>
#include <annulus/plan/csr_view.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "plan_fixtures.hpp"

namespace annulus::testing {
namespace {

TEST(Plan, WeightsOfEveryPixelInRangeAddUpToExactlyTwoToTheF) {
  std::mt19937_64 random(1);
  int built = 0;
  for (int round = 0; round < 300; ++round) {
    const Shape shape{1 + static_cast<std::uint32_t>(random() % 40),
                      1 + static_cast<std::uint32_t>(random() % 40)};
    Plan plan;
    try {
      plan = build_plan(random_geometry(random, shape), random_options(random), {}, {"test", shape}, 2);
    } catch (const Error& error) {
      // A random azimuth window may miss a small detector: that is an error of its own, not of this test.
      ASSERT_EQ(error.kind(), ErrorKind::kPlan) << error.what();
      continue;
    }
    ++built;
    for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
      const auto* const first = plan.matrix.weight.data() + plan.matrix.first[pixel];
      const auto* const end = plan.matrix.weight.data() + plan.matrix.first[pixel + 1];
      const std::uint64_t sum = std::accumulate(first, end, std::uint64_t{0});
      ASSERT_TRUE(first == end || sum == std::uint64_t{1} << plan.weight_bits)
          << "round " << round << ", pixel " << pixel << ", sum " << sum;
    }
  }
  EXPECT_GT(built, 200);
}

TEST(Plan, TotalsAreTheSumsOverItsPixels) {
  std::mt19937_64 random(2);
  const Shape shape{60, 50};
  IntegrationOptions options;
  options.bins = 37;
  options.polarization = 0.9;
  PixelMaps maps;
  maps.dark = Image<double>{shape, std::vector<double>(shape.size())};
  for (double& dark : maps.dark->pixels) dark = std::normal_distribution<double>(3, 5)(random);
  const Plan plan = build_plan(random_geometry(random, shape), options, maps, {"test", shape});
  std::vector<std::int64_t> norm(37), dark(37), count(37);
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    for (auto entry = plan.matrix.first[pixel]; entry < plan.matrix.first[pixel + 1]; ++entry) {
      const std::int64_t weight = plan.matrix.weight[entry];
      norm[plan.matrix.bin[entry]] += weight * plan.normalization[pixel];
      dark[plan.matrix.bin[entry]] += weight * plan.dark[pixel];
      count[plan.matrix.bin[entry]] += weight;
    }
  }
  EXPECT_EQ(plan.totals.normalization, norm);
  EXPECT_EQ(plan.totals.dark, dark);
  EXPECT_EQ(plan.totals.count, count);
}

TEST(Plan, DoesNotDependOnTheNumberOfThreads) {
  std::mt19937_64 random(3);
  const Shape shape{83, 71};
  const Geometry geometry = random_geometry(random, shape);
  IntegrationOptions options;
  for (const Splitting splitting : {Splitting::kNo, Splitting::kBoundingBox, Splitting::kFull}) {
    options.splitting = splitting;
    const Plan one = build_plan(geometry, options, {}, {"test", shape}, 1);
    for (const unsigned threads : {2u, 3u, 7u, 100u}) {
      EXPECT_EQ(build_plan(geometry, options, {}, {"test", shape}, threads).hash, one.hash) << threads;
    }
  }
}

TEST(Plan, HashChangesWithEveryOptionThatShapesNumbers) {
  const Shape shape{30, 30};
  const Geometry geometry = small_geometry(shape);
  const auto hash_with = [&](auto&& change) {
    IntegrationOptions options;
    Geometry changed = geometry;
    change(options, changed);
    return build_plan(changed, options, {}, {"test", shape}).hash;
  };
  std::vector<std::string> hashes = {
      hash_with([](auto&, auto&) {}),
      hash_with([](auto& o, auto&) { o.bins = 999; }),
      hash_with([](auto& o, auto&) { o.unit = Unit::kTwoThetaRad; }),
      hash_with([](auto& o, auto&) { o.splitting = Splitting::kFull; }),
      hash_with([](auto& o, auto&) {
        o.radial_range = Range{0, 1};
      }),
      hash_with([](auto& o, auto&) {
        o.azimuth_range = Range{-180, 180};
      }),
      hash_with([](auto& o, auto&) { o.solid_angle = false; }),
      hash_with([](auto& o, auto&) { o.polarization = 0.5; }),
      hash_with([](auto& o, auto&) { o.dummy = 7; }),
      hash_with([](auto& o, auto&) { o.max_count = 1000; }),
      hash_with([](auto&, auto& g) { g.distance = 0.11; }),
      hash_with([](auto&, auto& g) { g.wavelength = 2e-10; }),
  };
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
  EXPECT_EQ(hash_with([](auto&, auto&) {}), hash_with([](auto&, auto&) {}));
}

TEST(CsrView, HoldsEveryEntryOnceByBinAndAscendingPixel) {
  std::mt19937_64 random(4);
  const Shape shape{20, 30};
  IntegrationOptions options;
  options.bins = 11;
  const Plan plan = build_plan(random_geometry(random, shape), options, {}, {"test", shape});
  const CsrView view = csr_by_bin(plan);
  ASSERT_EQ(view.indptr.size(), 12u);
  ASSERT_EQ(view.data.size(), plan.matrix.bin.size());
  std::vector<double> shares(shape.size(), 0);
  for (std::size_t bin = 0; bin < 11; ++bin) {
    for (auto entry = view.indptr[bin]; entry < view.indptr[bin + 1]; ++entry) {
      if (entry > view.indptr[bin]) {
        EXPECT_LT(view.indices[entry - 1], view.indices[entry]);
      }
      shares[static_cast<std::size_t>(view.indices[entry])] += view.data[entry];
    }
  }
  for (const double share : shares) EXPECT_EQ(share, 1.0);  // no range, no mask: every pixel is whole
}

}  // namespace
}  // namespace annulus::testing
