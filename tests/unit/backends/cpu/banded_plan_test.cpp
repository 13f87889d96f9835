#include <annulus/backends/cpu/banded_plan.hpp>
#include <annulus/core/error.hpp>
#include <annulus/plan/fixed_point.hpp>

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "plan_fixtures.hpp"

namespace annulus::testing {
namespace {

struct Weight {
  std::uint32_t weight;
  std::uint32_t square;
  bool operator==(const Weight&) const = default;
};
using Matrix = std::map<std::pair<std::size_t, std::uint32_t>, Weight>;  // by pixel and bin

// Adds one share; no share may come twice.
void put(Matrix& matrix, std::size_t pixel, std::uint32_t bin, Weight weight) {
  EXPECT_TRUE(matrix.emplace(std::pair(pixel, bin), weight).second) << "pixel " << pixel << ", bin " << bin;
}

template <int kBins>
void unpack(const SegmentsView<kBins>& segments, int weight_bits, std::size_t start, Matrix& matrix) {
  for (const Segment<kBins>* segment = segments.begin; segment != segments.end; ++segment) {
    for (int i = 0; i < kSegment; ++i) {
      std::uint32_t weights[kBins] = {1u << weight_bits};
      if constexpr (kBins > 1) {
        for (int bin = 1; bin < kBins; ++bin) weights[bin] = segment->weight[bin - 1][i];
        for (int bin = 1; bin < kBins; ++bin) weights[0] -= weights[bin];
      }
      for (int bin = 0; bin < kBins; ++bin) {
        const std::uint32_t square =
            segments.squares ? segments.squares[segment - segments.begin].square[bin][i] : 0;
        if (segment->pixel[i] == kNoPixel) {
          EXPECT_EQ(square, 0u);
          EXPECT_TRUE(bin == 0 || weights[bin] == 0);
          continue;
        }
        put(matrix, start + segment->pixel[i], segment->first_bin + bin, {weights[bin], square});
      }
    }
  }
}

TEST(BandedPlan, HoldsTheMatrixOfThePlan) {
  std::mt19937_64 random(51);
  int compared = 0;
  std::size_t wide = 0;
  for (int round = 0; round < 60; ++round) {
    const Shape shape{1 + static_cast<std::uint32_t>(random() % 150),
                      1 + static_cast<std::uint32_t>(random() % 150)};
    Job job{nullptr, random_recipe(random)};
    try {
      job.plan = std::make_shared<const Plan>(
          build_plan(random_geometry(random, shape), random_options(random), {}, {"test", shape}, 1));
    } catch (const Error&) {
      continue;  // a random window that misses the detector
    }
    const auto& plan = job.plan;
    Matrix expected;
    for (std::size_t pixel = 0; pixel < plan->pixels(); ++pixel) {
      for (std::uint32_t entry = plan->matrix.first[pixel]; entry < plan->matrix.first[pixel + 1]; ++entry) {
        const std::uint32_t weight = plan->matrix.weight[entry];
        const std::uint32_t square =
            job.recipe.has_variance() ? squared_weight(weight, plan->weight_bits, plan->variance_bits) : 0;
        put(expected, pixel, plan->matrix.bin[entry], {weight, square});
      }
    }
    const BandedPlan banded = make_banded_plan(job, 1 + round % 3);
    ASSERT_EQ(banded.band_count(), (plan->pixels() + kBandPixels - 1) / kBandPixels);
    Matrix found;
    std::vector<bool> used(plan->pixels());
    for (std::size_t band = 0; band < banded.band_count(); ++band) {
      const BandView view = view_of(banded, band);
      const std::size_t start = band * kBandPixels;
      unpack(view.ones, view.weight_bits, start, found);
      unpack(view.twos, view.weight_bits, start, found);
      unpack(view.threes, view.weight_bits, start, found);
      for (const WideShare* share = view.wides_begin; share != view.wides_end; ++share, ++wide) {
        put(found, start + share->pixel, share->bin, {share->weight, share->square});
      }
      for (std::uint32_t i = banded.bands[band].ranges; i < banded.bands[band + 1].ranges; ++i) {
        for (std::uint32_t at = banded.ranges[i].begin; at < banded.ranges[i].end; ++at)
          used[start + at] = true;
      }
    }
    ASSERT_EQ(found, expected) << "round " << round;
    for (std::size_t pixel = 0; pixel < plan->pixels(); ++pixel) {
      ASSERT_EQ(used[pixel], plan->matrix.first[pixel] != plan->matrix.first[pixel + 1]) << pixel;
    }
    ++compared;
  }
  EXPECT_GT(compared, 20);
  EXPECT_GT(wide, 100u);
}

TEST(BandedPlan, TakesBinsThatAreNoNeighboursOneByOne) {
  Plan plan;
  plan.shape = Shape{1, 1};
  plan.axes.emplace_back().centres.resize(8);
  plan.weight_bits = 10;
  plan.matrix.first = std::vector<std::uint32_t>{0, 2};
  plan.matrix.bin = std::vector<std::uint32_t>{2, 5};
  plan.matrix.weight = std::vector<std::uint32_t>{1000, 24};
  const BandedPlan banded = make_banded_plan({std::make_shared<const Plan>(plan)}, 1);
  EXPECT_TRUE(banded.twos.empty());
  ASSERT_EQ(banded.wides.size(), 2u);
  EXPECT_EQ(banded.wides[0].bin, 2u);
  EXPECT_EQ(banded.wides[1].bin, 5u);
  EXPECT_EQ(banded.wides[0].weight, 1000u);
  EXPECT_EQ(banded.wides[1].weight, 24u);
}

TEST(BandedPlan, PixelsOfASegmentFollowEachOtherInBins) {
  const Shape shape{100, 100};
  IntegrationOptions options;
  options.bins = 50;
  const Plan plan = build_plan(small_geometry(shape), options, {}, {"test", shape}, 1);
  const BandedPlan banded = make_banded_plan({std::make_shared<const Plan>(plan)}, 2);
  for (std::size_t band = 0; band < banded.band_count(); ++band) {
    const BandView view = view_of(banded, band);
    for (const auto* segment = view.twos.begin; segment + 1 < view.twos.end; ++segment) {
      ASSERT_LE(segment->first_bin, segment[1].first_bin);
      const bool full = segment->pixel[kSegment - 1] != kNoPixel;
      ASSERT_TRUE(full || segment->first_bin != segment[1].first_bin);
    }
  }
}

}  // namespace
}  // namespace annulus::testing
