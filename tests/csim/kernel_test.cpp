// Whole kernels against the definition, for plans of every form. Built for several sizes of the kernels.
#include <gtest/gtest.h>
#include <hls/config.hpp>

#include <algorithm>

#include "backends/naive_reduction.hpp"
#include "backends/test_frames.hpp"
#include "kernel_fixture.hpp"

namespace annulus::testing {
namespace {

constexpr PixelType kTypes[] = {PixelType::kU8,  PixelType::kI8,  PixelType::kU16,
                                PixelType::kI16, PixelType::kU32, PixelType::kI32};

// `count` random frames, packed by `pack`, in one launch.
template <typename Pack>
void expect_definition(const Plan& plan, std::size_t count, std::mt19937_64& random, Pack pack) {
  std::vector<Frame> frames;
  std::vector<Sums> expected;
  for (std::size_t i = 0; i < count; ++i) {
    const auto pixels = random_pixels(random, plan.pixel_type, plan.pixels());
    frames.push_back(pack(pixels));
    expected.push_back(reduce_naively(plan, pixels, frames.back().fraction_bits, kRecipe));
  }
  const auto results = launch_frames(plan, frames);
  ASSERT_EQ(results.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(results[i].fault(), "") << "frame " << i;
    ASSERT_EQ(results[i].sums(), expected[i]) << "frame " << i << " of " << count;
  }
}

void expect_definition(const Plan& plan, std::size_t count, std::mt19937_64& random) {
  std::mt19937_64 again = random;  // the same pixels
  expect_definition(plan, count, random,
                    [&](const auto& pixels) { return raw_frame(plan.shape, plan.pixel_type, pixels); });
  expect_definition(plan, count, again, [&](const auto& pixels) {
    return block_frame(raw_frame(plan.shape, plan.pixel_type, pixels));
  });
  if (plan.pixel_type != PixelType::kI32) return;
  expect_definition(plan, count, random,
                    [&](const auto& pixels) { return byte_offset_frame(plan.shape, pixels); });
}

TEST(Kernel, EqualsTheDefinitionForPixelsOverAnyNumberOfBins) {
  std::mt19937_64 random(1);
  for (const std::uint32_t widest : {1u, 2u, 3u, 4u, 5u, 6u, 9u, 40u}) {
    SCOPED_TRACE(widest);
    PlanShape shape;
    shape.widest = widest;
    for (int round = 0; round < 4; ++round) {
      shape.bins = widest + static_cast<std::uint32_t>(random() % 200);
      expect_definition(random_plan(shape, random), 3, random);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Kernel, EqualsTheDefinitionFromOneBinToTheMaximum) {
  std::mt19937_64 random(2);
  for (const std::uint32_t bins :
       {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000, kernels::kMaxBins / 2 + 1, kernels::kMaxBins - 3,
        kernels::kMaxBins - 2, kernels::kMaxBins - 1, kernels::kMaxBins}) {
    SCOPED_TRACE(bins);
    PlanShape shape;
    shape.bins = bins;
    shape.shape = {40, 33};
    expect_definition(random_plan(shape, random), 3, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Kernel, TakesPixelsOfEveryTypePlainAndInBlocks) {
  std::mt19937_64 random(3);
  for (const PixelType type : kTypes) {
    SCOPED_TRACE(name_of(type));
    PlanShape shape;
    shape.type = type;
    Plan plan = random_plan(shape, random);
    expect_definition(plan, 4, random);
    plan.validity = {1, 0, UINT32_MAX};  // no dummies, and every value counts
    expect_definition(plan, 4, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Kernel, TakesFramesOfEverySizeBackToBack) {
  std::mt19937_64 random(4);
  for (std::uint32_t pixels = 1; pixels <= 70; ++pixels) {
    SCOPED_TRACE(pixels);
    PlanShape shape;
    shape.shape = {1, pixels};
    shape.bins = 1 + static_cast<std::uint32_t>(random() % 50);
    expect_definition(random_plan(shape, random), 1 + random() % 7, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Kernel, AddsBurstsToTheSameBin) {
  std::mt19937_64 random(5);
  const Shape shape{60, 64};
  // Lane l of group g has bin pattern[g % period]: the same bin comes back after `period` clocks in every
  // lane.
  for (std::uint32_t period = 1; period <= 12; ++period) {
    SCOPED_TRACE(period);
    std::vector<std::uint32_t> bins(shape.size());
    for (std::size_t pixel = 0; pixel < bins.size(); ++pixel) {
      bins[pixel] = static_cast<std::uint32_t>(4 * (pixel / kernels::kLanes % period) + pixel % 3);
    }
    expect_definition(single_bin_plan(shape, 64, bins), 3, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Kernel, HazardsCostNoIteration) {
  const Shape shape{64, 64};
  std::vector<std::uint32_t> apart(shape.size());
  for (std::size_t pixel = 0; pixel < apart.size(); ++pixel)
    apart[pixel] = static_cast<std::uint32_t>(pixel % 1000);
  const std::vector<std::uint32_t> together(shape.size(), 7);
  std::mt19937_64 random(6);
  std::vector<std::int64_t> pixels(shape.size());
  for (std::int64_t& pixel : pixels) pixel = static_cast<std::int64_t>(random() % 100);
  const std::vector<Frame> frames(3, byte_offset_frame(shape, pixels));
  const auto iterations = [&](const Plan& plan) {
    annulus_sim::Launch launch(annulus_sim::Mode::kSequential);
    launch_frames(plan, frames, launch);
    std::vector<std::uint64_t> counts;
    for (const auto& stage : launch.report().stages) counts.push_back(stage.iterations);
    return counts;
  };
  const auto far = iterations(single_bin_plan(shape, 1000, apart));
  EXPECT_EQ(iterations(single_bin_plan(shape, 1000, together)), far);
  EXPECT_GE(*std::max_element(far.begin(), far.end()), 3 * shape.size() / kernels::kLanes);
}

TEST(Kernel, SaturatedAndDummyPixelsTakeTheirShareFromTheTotals) {
  std::mt19937_64 random(7);
  PlanShape shape;
  shape.shape = {30, 31};
  shape.widest = 7;
  Plan plan = random_plan(shape, random);
  for (const auto& [low, high, most] :
       {std::tuple{-3, -1, 100}, {0, 0, 10}, {5, 90, 1 << 20}, {-1000000, 1000000, 50}}) {
    plan.validity = {low, high, most};
    expect_definition(plan, 3, random);
    if (HasFatalFailure()) return;
  }
  plan.dark = {};
  expect_definition(plan, 2, random);
}

TEST(Kernel, LargestCountsInTheFullestBinDoNotOverflow) {
  const Shape shape{15, 34};  // 510 x 2^31 x 2^23 is just below 2^63
  Plan plan = single_bin_plan(shape, 3, std::vector<std::uint32_t>(shape.size(), 1));
  for (const std::int64_t value : {std::int64_t{INT32_MAX}, -std::int64_t{INT32_MAX}}) {
    plan.validity = {1, 0, INT32_MAX};
    plan.variance_bits = 0;
    if (kernels::kVariance) plan.variance_bits = 21;
    const std::vector<std::int64_t> pixels(shape.size(), value);
    const auto results =
        launch_frames(plan, {byte_offset_frame(shape, pixels), byte_offset_frame(shape, pixels)});
    EXPECT_EQ(results[0].sums(), reduce_naively(plan, pixels, 0, kRecipe));
    EXPECT_EQ(results[1].sums(), results[0].sums());
  }
}

TEST(Kernel, FramesOfOneLaunchMayHaveUnitsOfTheirOwn) {
  std::mt19937_64 random(8);
  const Plan plan = random_plan({}, random);
  int fraction_bits = -2;
  expect_definition(plan, 12, random, [&](const auto& pixels) {
    Frame frame = raw_frame(plan.shape, plan.pixel_type, pixels);
    frame.fraction_bits = fraction_bits++;
    return frame;
  });
}

TEST(Kernel, ALaunchOfNoFramesWritesNothing) {
  std::mt19937_64 random(9);
  EXPECT_TRUE(launch_frames(random_plan({}, random), {}).empty());
}

}  // namespace
}  // namespace annulus::testing
