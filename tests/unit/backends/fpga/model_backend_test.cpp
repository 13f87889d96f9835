// The kernels behind the backend interface, against the CPU backend.
#include <annulus/backends/cpu/cpu_reducer.hpp>
#include <annulus/backends/fpga/pack_plan.hpp>
#include <annulus/backends/registry.hpp>
#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan_fixtures.hpp"
#include "results.hpp"
#include "test_frames.hpp"

namespace annulus::testing {
namespace {

using ::testing::HasSubstr;

std::vector<FrameResult> reduce_by_model(const Job& job, const std::vector<Frame>& frames) {
  return reduce_by(*make_backend("model", {2}), job, frames);
}

void expect_as_cpu(const Job& job, const std::vector<Frame>& frames) {
  expect_same_results(reduce_by_model(job, frames), reduce_by_cpu(job, frames));
}

TEST(ModelBackend, EqualsTheCpuForRandomPlansTypesAndBatches) {
  std::mt19937_64 random(41);
  constexpr PixelType kTypes[] = {PixelType::kU8, PixelType::kU16, PixelType::kU32,
                                  PixelType::kI8, PixelType::kI16, PixelType::kI32};
  int compared = 0;
  for (int round = 0; round < 60; ++round) {
    const Shape shape{1 + static_cast<std::uint32_t>(random() % 60),
                      1 + static_cast<std::uint32_t>(random() % 60)};
    const PixelType type = kTypes[random() % 6];
    Geometry geometry = random_geometry(random, shape);
    geometry.detector.dectris = random() % 2 == 0;
    IntegrationOptions options = random_options(random);
    if (random() % 2 == 0) options.max_count = 1000;
    std::shared_ptr<const Plan> plan;
    try {
      plan = std::make_shared<const Plan>(build_plan(geometry, options, {}, {"test", shape, type}, 1));
    } catch (const Error&) {
      continue;  // a random window that misses the detector
    }
    std::vector<Frame> frames;
    for (std::size_t i = 0; i < 1 + round % 7u; ++i) {
      const auto pixels = random_pixels(random, type, shape.size());
      const Frame raw = raw_frame(shape, type, pixels);
      frames.push_back(type == PixelType::kI32 && random() % 2 == 0 ? byte_offset_frame(shape, pixels)
                       : random() % 2 == 0                          ? block_frame(raw)
                                                                    : raw);
      frames.back().id.index = 1000 + i;
      frames.back().fraction_bits = static_cast<int>(random() % 5);
    }
    expect_as_cpu({plan, random_recipe(random)}, frames);
    if (HasFatalFailure()) return;
    ++compared;
  }
  EXPECT_GT(compared, 40);
}

TEST(ModelBackend, SaysOfDamagedFramesWhatTheCpuSays) {
  std::mt19937_64 random(42);
  const Shape shape{50, 70};
  IntegrationOptions options;
  options.bins = 40;
  const auto plan =
      std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape}));
  const Frame good = byte_offset_frame(shape, random_pixels(random, PixelType::kI32, shape.size()));
  const std::vector<Frame> frames = damaged_frames(random, good, 200);
  expect_as_cpu({plan, random_recipe(random)}, frames);
}

TEST(ModelBackend, SaysOfDamagedBlocksWhatTheCpuSays) {
  std::mt19937_64 random(43);
  const Shape shape{50, 71};
  IntegrationOptions options;
  options.bins = 40;
  const auto plan = std::make_shared<const Plan>(
      build_plan(small_geometry(shape), options, {}, {"test", shape, PixelType::kU16}));
  std::vector<Frame> frames;
  for (int i = 0; i < 300; ++i) {
    const Frame raw = raw_frame(shape, PixelType::kU16, random_pixels(random, PixelType::kU16, shape.size()));
    const Codec codec = i % 10 == 8   ? Codec::kBitshuffleZstd
                        : i % 10 == 9 ? Codec::kLz4
                                      : Codec::kBitshuffleLz4;
    Frame frame = block_frame(raw, codec, i % 7 == 0 ? 64 : i % 7 == 1 ? 32768 : 0);
    std::vector<std::byte> bytes(frame.payload.view().begin(), frame.payload.view().end());
    switch (random() % 6) {
      case 0:
        bytes.resize(random() % bytes.size());
        break;
      case 1:
        bytes.resize(bytes.size() + 1 + random() % 100);
        break;
      case 2:
        bytes[random() % 16] = static_cast<std::byte>(random());
        break;
      case 3:
        bytes[random() % bytes.size()] = std::byte{0xF5};
        break;
      case 4:
        for (int k = 0; k < 15; ++k)
          bytes[random() % bytes.size()] |= static_cast<std::byte>(1 + random() % 255);
        break;
      default:
        break;
    }
    frame.payload = Bytes(std::move(bytes));
    frame.id.index = static_cast<std::uint64_t>(i);
    frames.push_back(std::move(frame));
  }
  expect_as_cpu({plan, random_recipe(random)}, frames);
}

TEST(ModelBackend, ReducesTheSamePixelsToTheSameSumsHoweverTheyArePacked) {
  std::mt19937_64 random(44);
  const Shape shape{120, 131};
  IntegrationOptions options;
  options.bins = 100;
  const auto plan = std::make_shared<const Plan>(
      build_plan(small_geometry(shape), options, {}, {"test", shape, PixelType::kI32}));
  const auto pixels = random_pixels(random, PixelType::kI32, shape.size());
  const Frame raw = raw_frame(shape, PixelType::kI32, pixels);
  const std::vector<Frame> frames = {raw,
                                     byte_offset_frame(shape, pixels),
                                     block_frame(raw),
                                     block_frame(raw, Codec::kBitshuffleLz4, 96),
                                     block_frame(raw, Codec::kBitshuffleLz4, 65536),
                                     block_frame(raw, Codec::kBitshuffleZstd),
                                     block_frame(raw, Codec::kLz4)};
  const Job job{plan, {ErrorModel::kPoisson}};
  expect_as_cpu(job, frames);
  const auto results = reduce_by_model(job, frames);
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].fault(), "") << i;
    EXPECT_EQ(results[i].sums(), results[0].sums()) << i;
  }
}

TEST(ModelBackend, RefusesMoreBinsThanTheKernelsHoldWhenItIsLoaded) {
  const Shape shape{20, 20};
  IntegrationOptions options;
  options.bins = kernels::kMaxBins + 1;
  const auto plan =
      std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape}));
  try {
    make_backend("model", {1})->load({plan});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBackend);
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(kernels::kMaxBins)));
    EXPECT_THAT(error.cure(), HasSubstr("cpu"));
  }
}

TEST(ModelBackend, SaysOfACakeThatIsTooLargeWhatItIsMadeOf) {
  const Shape shape{20, 20};
  IntegrationOptions options;
  options.bins = 1000;
  options.azimuth_bins = 360;
  const auto plan =
      std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape}));
  try {
    make_backend("model", {1})->load({plan});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("1000 x 360 = 360000 bins"));
    EXPECT_THAT(error.cure(), HasSubstr("`npt_azim`"));
  }
}

}  // namespace
}  // namespace annulus::testing
