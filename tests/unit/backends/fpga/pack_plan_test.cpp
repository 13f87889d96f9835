// The table that the kernels read, unpacked: it holds the plan's matrix, of patterns and of cakes.
#include <annulus/backends/fpga/pack_plan.hpp>
#include <annulus/core/error.hpp>

#include <gtest/gtest.h>

#include <map>

#include "plan_fixtures.hpp"

namespace annulus::testing {
namespace {

using Weights = std::map<std::uint32_t, std::uint32_t>;

// Bits [first, first + count) of an entry.
std::uint32_t field(kernels::TableEntry entry, int first, int count) {
  return static_cast<std::uint32_t>(entry >> first & ((kernels::TableEntry{1} << count) - 1));
}

struct Unpacked {
  std::vector<Weights> pixels;       // by pixel
  std::vector<std::size_t> entries;  // of each pixel
};

// Beat by beat: the last beat of 16 pixels is marked in the first lane.
Unpacked unpack(const DevicePlan& plan) {
  const std::uint32_t whole = 1u << plan.weight_bits;
  Unpacked all;
  all.pixels.resize(plan.pixels + kernels::kLanes);
  all.entries.resize(all.pixels.size());
  std::size_t first = 0;
  for (std::uint32_t beat = 0; beat < plan.beats; ++beat) {
    bool last = false;
    for (std::size_t lane = 0; lane < kernels::kLanes; ++lane) {
      const auto& slice = plan.table[lane / kernels::kEntriesAPort][beat];
      const kernels::TableEntry entry = slice.entry[lane % kernels::kEntriesAPort];
      if (lane == 0) last = (entry & kernels::kLastBeat) != 0;
      const std::uint32_t bin = field(entry, 0, kernels::kBinBits);
      const std::uint32_t second = field(entry, kernels::kBinBits, kernels::kShareBits);
      const std::uint32_t third = field(entry, kernels::kBinBits + kernels::kShareBits, kernels::kShareBits);
      Weights& weights = all.pixels[first + lane];
      if (second > 0) weights[bin + 1] += second;
      if (third > 0) weights[bin + 2] += third;
      const bool closes = (entry & kernels::kCloses) != 0;
      all.entries[first + lane] += closes || second > 0 || third > 0;
      if (!closes) continue;
      std::uint32_t rest = whole;
      for (const auto& [other, weight] : weights) rest -= weight;
      weights[bin] += rest;
    }
    if (last) first += kernels::kLanes;
  }
  return all;
}

Weights weights_of(const SparseMatrix& matrix, std::size_t pixel) {
  Weights weights;
  for (std::uint32_t entry = matrix.first[pixel]; entry < matrix.first[pixel + 1]; ++entry) {
    weights[matrix.bin[entry]] = matrix.weight[entry];
  }
  return weights;
}

TEST(PackPlan, TableHoldsTheMatrixOfCakesWhoseBinsAreNoNeighbours) {
  std::mt19937_64 random(61);
  std::size_t apart = 0;
  for (int round = 0; round < 40; ++round) {
    const Shape shape{1 + static_cast<std::uint32_t>(random() % 40),
                      1 + static_cast<std::uint32_t>(random() % 40)};
    IntegrationOptions options = random_options(random);
    options.azimuth_bins = 1 + static_cast<std::uint32_t>(random() % 10);
    Plan plan;
    try {
      plan = build_plan(random_geometry(random, shape), options, {}, {"test", shape}, 1);
    } catch (const Error&) {
      continue;  // a random window that misses the detector
    }
    const Unpacked unpacked = unpack(pack_plan(plan, {}, "test"));
    for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
      const Weights expected = weights_of(plan.matrix, pixel);
      ASSERT_EQ(unpacked.pixels[pixel], expected) << "round " << round << ", pixel " << pixel;
      apart += !expected.empty() && expected.rbegin()->first - expected.begin()->first >= expected.size();
    }
  }
  EXPECT_GT(apart, 1000u);
}

TEST(PackPlan, APixelOverTwoTimesTwoBinsTakesTwoEntriesAlsoAtTheFirstAndLastBins) {
  constexpr std::uint32_t kRadial = 5;
  Plan plan;
  plan.shape = {1, 3};
  plan.axes.resize(2);
  plan.axes[0].centres.resize(kRadial);
  plan.axes[1].centres.resize(3);
  plan.weight_bits = 10;
  plan.validity.max_count = 1000;
  plan.matrix.first = std::vector<std::uint32_t>{0, 4, 8, 12};
  // At bin 0; at the last bins; and over the discontinuity, in the first and the last azimuth.
  plan.matrix.bin = std::vector<std::uint32_t>{0, 1, 5, 6, 8, 9, 13, 14, 0, 1, 10, 11};
  plan.matrix.weight = std::vector<std::uint32_t>{100, 200, 300, 424, 1, 1, 1, 1021, 24, 500, 499, 1};
  plan.normalization = std::vector<std::int32_t>{1, 1, 1};
  const Unpacked unpacked = unpack(pack_plan(plan, {}, "test"));
  for (std::size_t pixel = 0; pixel < 3; ++pixel) {
    EXPECT_EQ(unpacked.pixels[pixel], weights_of(plan.matrix, pixel)) << pixel;
    EXPECT_EQ(unpacked.entries[pixel], 2u) << pixel;
  }
}

}  // namespace
}  // namespace annulus::testing
