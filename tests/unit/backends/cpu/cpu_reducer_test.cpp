#include <annulus/backends/cpu/latency_reducer.hpp>
#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "naive_reduction.hpp"
#include "plan_fixtures.hpp"
#include "test_frames.hpp"

namespace annulus::testing {
namespace {

using ::testing::HasSubstr;

// By the generic code. Every instruction set of the machine, and threads that share frames, must do the same.
std::vector<FrameResult> reduce(const Job& job, const std::vector<Frame>& frames) {
  const auto shared = make_cpu_plan(job, 2);
  const auto expected = CpuReducer(shared, InstructionSet::kGeneric).reduce(frames);
  const auto compare = [&](const std::string& how, BatchReducer& reducer) {
    const auto results = reducer.reduce(frames);
    EXPECT_EQ(results.size(), expected.size()) << how;
    for (std::size_t i = 0; i < std::min(results.size(), expected.size()); ++i) {
      EXPECT_EQ(results[i].id.index, expected[i].id.index) << how;
      ASSERT_EQ(results[i].fault(), expected[i].fault()) << how << ", frame " << i;
      if (!results[i].good()) continue;
      EXPECT_EQ(results[i].sums(), expected[i].sums()) << how << ", frame " << i;
    }
  };
  for (const InstructionSet set : available_instruction_sets()) {
    CpuReducer reducer(shared, set);
    compare(std::string(name_of(set)), reducer);
    compare(std::string(name_of(set)) + ", again", reducer);
    const auto latency = make_latency_reducer(shared, set, 1 + frames.size() % 3);
    compare(std::string(name_of(set)) + ", latency", *latency);
  }
  return expected;
}

TEST(CpuReducer, EqualsTheDefinitionForRandomPlansTypesAndBatches) {
  std::mt19937_64 random(21);
  constexpr PixelType kTypes[] = {PixelType::kU8, PixelType::kU16, PixelType::kU32,
                                  PixelType::kI8, PixelType::kI16, PixelType::kI32};
  int compared = 0;
  for (int round = 0; round < 120; ++round) {
    // Of one band, and of several.
    const std::uint32_t largest = round % 4 == 0 ? 180 : 60;
    const Shape shape{1 + static_cast<std::uint32_t>(random() % largest),
                      1 + static_cast<std::uint32_t>(random() % largest)};
    const PixelType type = kTypes[random() % 6];
    Geometry geometry = random_geometry(random, shape);
    geometry.detector.dectris = random() % 2 == 0;
    IntegrationOptions options = random_options(random);
    if (random() % 2 == 0) options.max_count = 1000;
    PixelMaps maps;
    if (random() % 2 == 0) {
      maps.dark = Image<double>{shape, std::vector<double>(shape.size())};
      for (double& dark : maps.dark->pixels) dark = std::normal_distribution<double>(2, 1)(random);
    }
    std::shared_ptr<const Plan> plan;
    try {
      plan = std::make_shared<const Plan>(build_plan(geometry, options, maps, {"test", shape, type}, 1));
    } catch (const Error&) {
      continue;  // a random window that misses the detector
    }
    const Recipe recipe = random_recipe(random);
    std::vector<Frame> frames;
    std::vector<Sums> expected;
    const std::size_t count = 1 + random() % 37;
    for (std::size_t i = 0; i < count; ++i) {
      auto pixels = random_pixels(random, type, shape.size());
      if (random() % 2 == 0) {  // nothing that needs a second look
        for (std::int64_t& pixel : pixels) pixel = static_cast<std::int64_t>(random() % 100);
      }
      frames.push_back(type == PixelType::kI32 && random() % 2 == 0 ? byte_offset_frame(shape, pixels)
                                                                    : raw_frame(shape, type, pixels));
      frames.back().id.index = 1000 + i;
      expected.push_back(reduce_naively(*plan, pixels, 0, recipe));
    }
    const auto results = reduce({plan, recipe}, frames);
    ASSERT_EQ(results.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(results[i].good()) << results[i].fault();
      EXPECT_EQ(results[i].id.index, 1000 + i);
      ASSERT_EQ(results[i].sums(), expected[i]) << "round " << round << ", frame " << i;
      ++compared;
    }
  }
  EXPECT_GT(compared, 500);
}

TEST(CpuReducer, ConservesCountsExactlyForAThousandRandomPlansAndImages) {
  std::mt19937_64 random(22);
  int compared = 0;
  while (compared < 1000) {
    const Shape shape{1 + static_cast<std::uint32_t>(random() % 24),
                      1 + static_cast<std::uint32_t>(random() % 24)};
    std::shared_ptr<const Plan> plan;
    try {
      plan = std::make_shared<const Plan>(
          build_plan(random_geometry(random, shape), random_options(random), {}, {"test", shape}, 1));
    } catch (const Error&) {
      continue;
    }
    const auto pixels = random_pixels(random, PixelType::kI32, shape.size());
    const auto results = reduce({plan, random_recipe(random)}, {byte_offset_frame(shape, pixels)});
    Wide total = 0, expected = 0;
    for (const std::int64_t signal : results[0].sums()[Quantity::kSignal]) total += signal;
    for (std::size_t pixel = 0; pixel < pixels.size(); ++pixel) {
      const bool in_range = plan->matrix.first[pixel] != plan->matrix.first[pixel + 1];
      if (in_range && pixels[pixel] != std::numeric_limits<std::int32_t>::min()) expected += pixels[pixel];
    }
    ASSERT_TRUE(total == expected * (Wide{1} << plan->weight_bits)) << "plan " << compared;
    ++compared;
  }
}

TEST(CpuReducer, SamePixelsGiveTheSameAccumulatorsHoweverTheyArePacked) {
  std::mt19937_64 random(24);
  const Shape shape{173, 207};  // five bands, and neither blocks nor bands end where rows do
  constexpr PixelType kTypes[] = {PixelType::kU8, PixelType::kU16, PixelType::kU32,
                                  PixelType::kI8, PixelType::kI16, PixelType::kI32};
  for (const PixelType type : kTypes) {
    IntegrationOptions options;
    options.bins = 300;
    const auto plan = std::make_shared<const Plan>(
        build_plan(small_geometry(shape), options, {}, {"test", shape, type}, 1));
    const auto pixels = random_pixels(random, type, shape.size());
    const Frame raw = raw_frame(shape, type, pixels);
    const std::size_t unit = 8 * size_of(type);
    std::vector<Frame> frames = {raw};
    if (type == PixelType::kI32) frames.push_back(byte_offset_frame(shape, pixels));
    for (const Codec codec : {Codec::kBitshuffleLz4, Codec::kBitshuffleZstd, Codec::kLz4}) {
      for (const std::size_t block : {std::size_t{0}, 3 * unit, 65536 / unit * unit, 1000000 * unit}) {
        frames.push_back(block_frame(raw, codec, block));
      }
    }
    frames.push_back(block_frame(raw, Codec::kLz4, 4097));  // pixels across blocks
    const Recipe poisson{ErrorModel::kPoisson};
    const Sums expected = reduce_naively(*plan, pixels, 0, poisson);
    for (const std::size_t batch : {std::size_t{1}, std::size_t{2}, std::size_t{5}, frames.size()}) {
      for (std::size_t first = 0; first < frames.size(); first += batch) {
        const auto end = std::min(frames.size(), first + batch);
        const auto results = reduce({plan, poisson}, {frames.begin() + static_cast<std::ptrdiff_t>(first),
                                                      frames.begin() + static_cast<std::ptrdiff_t>(end)});
        for (std::size_t i = 0; i < results.size(); ++i) {
          ASSERT_TRUE(results[i].good()) << results[i].fault();
          ASSERT_EQ(results[i].sums(), expected) << name_of(type) << ", packing " << first + i;
        }
      }
    }
  }
}

// Sums in two passes, of which the second leaves out what the first found to be the largest value of a frame:
// the shape of a clip. And it keeps the values of a pixel: the shape of a tap.
class TwoPasses : public BandOperator {
 public:
  TwoPasses(const CpuPlan& plan, const LaneKernels& kernels)
      : sums_(*plan.job.plan, plan.banded, kernels), lanes_(kernels.lanes) {}

  void begin(std::span<const Frame* const> frames) override {
    sums_.begin(frames);
    frames_.assign(frames.begin(), frames.end());
    largest_.assign(lanes_, 0);
    first_pixels_.clear();
    passes_ = 0;
  }
  void add_band(std::size_t band, std::int32_t* values) override {
    for (std::size_t i = 0; i < kBandPixels * lanes_; ++i) {
      std::int32_t& largest = largest_[i % lanes_];
      if (passes_ == 0) largest = std::max(largest, values[i]);
      if (passes_ == 1 && values[i] == largest) values[i] = 0;
    }
    if (band == 0) first_pixels_.push_back(values[0]);
    sums_.add_band(band, values);
  }
  bool again() override {
    if (++passes_ == 2) return false;
    sums_.begin(frames_);
    return true;
  }
  std::vector<Sums> take() override {
    EXPECT_EQ(first_pixels_.size(), 2u) << "every pass begins with the first band";
    return sums_.take();
  }

 private:
  LaneSums sums_;
  std::size_t lanes_;
  std::vector<const Frame*> frames_;
  std::vector<std::int32_t> largest_, first_pixels_;
  int passes_ = 0;
};

TEST(CpuReducer, AnOperatorMaySeeTheBandsOfItsFramesAgain) {
  std::mt19937_64 random(25);
  const Shape shape{150, 150};  // three bands
  IntegrationOptions options;
  options.bins = 40;
  const auto plan =
      std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape}, 1));
  std::vector<Frame> frames;
  std::vector<Sums> expected;
  for (std::size_t i = 0; i < 21; ++i) {
    std::vector<std::int64_t> pixels(shape.size());
    for (std::int64_t& pixel : pixels) pixel = static_cast<std::int64_t>(random() % 100);
    pixels[1000 * i] = 5000;
    frames.push_back(byte_offset_frame(shape, pixels));
    pixels[1000 * i] = 0;
    expected.push_back(reduce_naively(*plan, pixels, 0));
  }
  Frame& cut = frames[3];
  cut.payload = cut.payload.slice(0, cut.payload.size() / 2);
  const auto shared = make_cpu_plan({plan}, 1);
  for (const InstructionSet set : available_instruction_sets()) {
    CpuReducer reducer(shared, set, [](const CpuPlan& made, const LaneKernels& kernels) {
      return std::make_unique<TwoPasses>(made, kernels);
    });
    const auto results = reducer.reduce(frames);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      ASSERT_EQ(results[i].good(), i != 3) << i;
      if (i == 3) continue;
      EXPECT_EQ(results[i].sums(), expected[i]) << name_of(set) << ", frame " << i;
    }
  }
}

TEST(CpuReducer, FullestBinOfLargestCountsDoesNotOverflow) {
  // Every pixel at the limit, in one bin: the proof of numerics.md at its edge.
  const Shape shape{64, 64};
  for (const PixelType type : {PixelType::kU32, PixelType::kI32, PixelType::kU16}) {
    IntegrationOptions options;
    options.bins = 1;
    const auto plan =
        std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape, type}));
    const std::vector<std::int64_t> pixels(shape.size(), plan->validity.max_count);
    const Recipe poisson{ErrorModel::kPoisson};
    const auto results = reduce({plan, poisson}, {raw_frame(shape, type, pixels)});
    EXPECT_EQ(results[0].sums(), reduce_naively(*plan, pixels, 0, poisson)) << name_of(type);
    EXPECT_GT(results[0].sums()[Quantity::kSignal][0], 0);
  }
}

TEST(CpuReducer, BadFramesLeaveTheOthersOfTheirBatchRight) {
  std::mt19937_64 random(23);
  const Shape shape{50, 70};
  IntegrationOptions options;
  options.bins = 40;
  const auto plan =
      std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape}));
  const auto pixels = random_pixels(random, PixelType::kI32, shape.size());
  const Frame good = byte_offset_frame(shape, pixels);
  Frame truncated = good, trailing = good, short_raw = raw_frame(shape, PixelType::kI32, pixels);
  truncated.payload = good.payload.slice(0, good.payload.size() / 2);
  std::vector<std::byte> longer(good.payload.view().begin(), good.payload.view().end());
  longer.push_back(std::byte{0});
  trailing.payload = Bytes(longer);
  short_raw.payload = short_raw.payload.slice(0, 100);

  const Frame blocks = block_frame(raw_frame(shape, PixelType::kI32, pixels), Codec::kBitshuffleLz4);
  Frame cut = blocks, corrupt = blocks;
  cut.payload = blocks.payload.slice(0, blocks.payload.size() - 1);
  std::vector<std::byte> bytes(blocks.payload.view().begin(), blocks.payload.view().end());
  bytes[16] = bytes[17] = std::byte{0xff};
  corrupt.payload = Bytes(bytes);

  const auto results =
      reduce({plan}, {good, truncated, good, trailing, good, short_raw, good, cut, blocks, corrupt, blocks});
  const Sums expected = reduce_naively(*plan, pixels, 0);
  for (const std::size_t i : {0, 2, 4, 6, 8, 10}) {
    EXPECT_TRUE(results[i].good()) << results[i].fault();
    EXPECT_EQ(results[i].sums(), expected) << i;
  }
  EXPECT_THAT(results[1].fault(), HasSubstr("truncated"));
  EXPECT_FALSE(results[3].good());
  EXPECT_THAT(results[5].fault(), HasSubstr("100 bytes"));
  EXPECT_THAT(results[7].fault(), HasSubstr("block 2 at byte"));
  EXPECT_THAT(results[9].fault(), HasSubstr("block 0 at byte 12 of"));
}

}  // namespace
}  // namespace annulus::testing
