// Whole kernels with a thread a stage and FIFOs as deep as declared: what the hardware's dataflow does.
#include <annulus/backends/fpga/pack_frames.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/naive_reduction.hpp"
#include "backends/test_frames.hpp"
#include "kernel_fixture.hpp"

namespace annulus::testing {
namespace {

struct Scan {
  Plan plan;
  std::vector<Frame> frames;
  std::vector<Sums> expected;  // empty where the frame is damaged
};

// Every seventh frame is damaged.
Scan make_scan(std::size_t count, Codec codec, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  PlanShape shape;
  shape.shape = {13, 37};
  shape.bins = 333;
  shape.widest = 5;
  Scan scan{random_plan(shape, random), {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const auto pixels = random_pixels(random, PixelType::kI32, scan.plan.pixels());
    const Frame raw = raw_frame(shape.shape, PixelType::kI32, pixels);
    scan.frames.push_back(codec == Codec::kByteOffset      ? byte_offset_frame(shape.shape, pixels)
                          : codec == Codec::kBitshuffleLz4 ? block_frame(raw, codec, 256)
                                                           : raw);
    scan.expected.push_back(reduce_naively(scan.plan, pixels, 0, kRecipe));
    if (i % 7 != 3) continue;
    Frame& damaged = scan.frames.back();
    damaged.payload = damaged.payload.slice(0, random() % damaged.payload.size());
  }
  return scan;
}

void expect_scan(const Scan& scan, annulus_sim::Launch& launch) {
  const auto results = launch_frames(scan.plan, scan.frames, launch);
  ASSERT_EQ(results.size(), scan.frames.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].good(), i % 7 != 3) << i << ": " << results[i].fault();
    if (!results[i].good()) continue;
    ASSERT_EQ(results[i].sums(), scan.expected[i]) << i;
  }
}

TEST(ConcurrentKernel, HundredFramesAtTheDeclaredDepths) {
  for (const Codec codec : kKernelCodecs) {
    const Scan scan = make_scan(100, codec, 1);
    annulus_sim::Launch launch(annulus_sim::Mode::kConcurrent);
    expect_scan(scan, launch);
    EXPECT_GE(launch.report().stages.size(), 8u);
    for (const auto& stream : launch.report().streams) {
      EXPECT_EQ(stream.writes, stream.reads) << stream.name;
      EXPECT_GT(stream.writes, 0u) << stream.name;
      EXPECT_LE(stream.high_water, stream.depth) << stream.name;
      EXPECT_GT(stream.depth, 2u) << stream.name << " has no declared depth";
    }
  }
}

TEST(ConcurrentKernel, NoFifoIsDeepBecauseItMustBe) {
  for (const Codec codec : kKernelCodecs) {
    const Scan scan = make_scan(12, codec, 2);
    annulus_sim::Launch launch(annulus_sim::Mode::kConcurrent);
    launch.force_depth(1);
    expect_scan(scan, launch);
  }
}

TEST(ConcurrentKernel, IterationsDoNotDependOnTheMode) {
  for (const Codec codec : {Codec::kByteOffset, Codec::kBitshuffleLz4}) {
    const Scan scan = make_scan(10, codec, 3);
    std::vector<std::uint64_t> iterations[2];
    for (const auto mode : {annulus_sim::Mode::kSequential, annulus_sim::Mode::kConcurrent}) {
      annulus_sim::Launch launch(mode);
      expect_scan(scan, launch);
      for (const auto& stage : launch.report().stages)
        iterations[static_cast<int>(mode)].push_back(stage.iterations);
    }
    EXPECT_EQ(iterations[0], iterations[1]);
  }
}

TEST(ConcurrentKernel, AFifoWithoutRoomIsADeadlockThatIsNamed) {
  const Scan bytes = make_scan(3, Codec::kByteOffset, 4);
  const Scan blocks = make_scan(3, Codec::kBitshuffleLz4, 4);
  for (const char* fifo :
       {"windows", "vectors", "table", "rows", "invalid_counts", "words[2]", "sequences[0]", "planes[5]"}) {
    const Scan& scan = std::string(fifo).back() == ']' ? blocks : bytes;
    annulus_sim::Launch launch(annulus_sim::Mode::kConcurrent);
    launch.force_depth(fifo, 0);
    try {
      launch_frames(scan.plan, scan.frames, launch);
      FAIL() << "no error for " << fifo;
    } catch (const annulus_sim::SimulationError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(std::string("'") + fifo + "', full with 0"));
    }
  }
}

}  // namespace
}  // namespace annulus::testing
