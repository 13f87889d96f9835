#include <annulus/backends/fpga/kernel_launch.hpp>
#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <replay.hpp>
#include <tools/cycles/cycle_report.hpp>

#include "plan_fixtures.hpp"
#include "test_frames.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;

constexpr Shape kShape{12, 16};  // 192 pixels: 12 vectors of 16

std::shared_ptr<const Plan> make_plan(std::uint32_t bins, Splitting splitting = Splitting::kNo,
                                      std::optional<Range> radial_range = std::nullopt) {
  IntegrationOptions options;
  options.bins = bins;
  options.splitting = splitting;
  options.radial_range = radial_range;
  return std::make_shared<const Plan>(
      build_plan(testing::small_geometry(kShape), options, {}, {"test", kShape}));
}

Frame plain_frame(PixelType type = PixelType::kI32) {
  return testing::raw_frame(kShape, type, std::vector<std::int64_t>(kShape.size(), 5));
}

// Every `every`-th difference takes three bytes instead of one; 0: none.
Frame packed_frame(std::size_t every) {
  std::vector<std::int64_t> pixels(kShape.size(), 5);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (every > 0 && (i / every) % 2 == 1) pixels[i] = 1000;
  }
  return testing::byte_offset_frame(kShape, pixels);
}

CycleReport report_on(std::shared_ptr<const Plan> plan, const std::vector<Frame>& frames) {
  CycleCounter counter({std::move(plan)});
  for (const Frame& frame : frames) counter.add(frame);
  return counter.report();
}

const StageCycles& stage_of(const CycleReport& report, const std::string& name) {
  for (const StageCycles& stage : report.stages) {
    if (stage.name == name) return stage;
  }
  throw std::runtime_error("no stage " + name);
}

double bytes_of(const CycleReport& report, const std::string& name) {
  for (const PortTraffic& port : report.ports) {
    if (port.name == name) return port.bytes_a_frame;
  }
  throw std::runtime_error("no port " + name);
}

TEST(CycleReport, PlainFrameTakesAClockForSixteenPixels) {
  const CycleReport report = report_on(make_plan(10), {plain_frame()});
  EXPECT_EQ(report.kernel, "reduce_raw");
  EXPECT_EQ(report.frames, 1u);
  EXPECT_EQ(report.pixels, 192u);
  EXPECT_EQ(report.bins, 10u);
  EXPECT_EQ(report.payload_bytes_a_frame, 768);
  for (const char* name : {"read_frames", "unpack_pixels", "read_table", "integrate_frames"}) {
    EXPECT_EQ(stage_of(report, name).iterations_a_frame, 12) << name;
  }
  // Three rows of four bins: cleared before the first frame, drained after the last.
  EXPECT_EQ(stage_of(report, "integrate_frames").iterations_a_launch, 6);
  EXPECT_EQ(stage_of(report, "sum_missing").iterations_a_launch, 3);
  EXPECT_EQ(stage_of(report, "read_table").iterations_a_launch, 0);
  EXPECT_EQ(stage_of(report, "write_results").iterations_a_frame, 3);
  EXPECT_EQ(stage_of(report, "write_missing").iterations_a_frame, 6);
  EXPECT_EQ(report.limiting_stage().name, "read_frames");
}

TEST(CycleReport, PortsCarryWhatTheLayoutSays) {
  const CycleReport report = report_on(make_plan(10), {plain_frame()});
  EXPECT_EQ(bytes_of(report, "descriptors"), 16);
  EXPECT_EQ(bytes_of(report, "frames"), 768);
  for (const char* port : {"table0", "table1", "table2", "table3"}) {
    EXPECT_EQ(bytes_of(report, port), 12 * 32) << port;
  }
  EXPECT_EQ(bytes_of(report, "corrections"), 0);
  EXPECT_EQ(bytes_of(report, "results"), (1 + 3) * 64);
  EXPECT_EQ(bytes_of(report, "missing"), 2 * 3 * 64);
  EXPECT_EQ(report.ports.size(), 9u);

  std::vector<std::int64_t> pixels(kShape.size(), 5);
  pixels[7] = pixels[100] = 65535;
  IntegrationOptions options;
  options.bins = 10;
  options.splitting = Splitting::kNo;
  options.max_count = 60000;
  const auto plan = std::make_shared<const Plan>(
      build_plan(testing::small_geometry(kShape), options, {}, {"test", kShape, PixelType::kU16}));
  const CycleReport with_invalid = report_on(plan, {testing::raw_frame(kShape, PixelType::kU16, pixels)});
  EXPECT_EQ(bytes_of(with_invalid, "corrections"), 2 * 64);
  EXPECT_EQ(bytes_of(with_invalid, "frames"), 384);
}

TEST(CycleReport, DecoderTakesAClockForSixteenBytes) {
  for (const std::size_t every : {0, 1, 3, 20}) {
    const Frame frame = packed_frame(every);
    const CycleReport report = report_on(make_plan(10), {frame});
    const double words = static_cast<double>((frame.payload.size() + 15) / 16);
    EXPECT_EQ(report.kernel, "reduce_byte_offset");
    for (const char* name : {"split_windows", "find_codes", "add_differences"}) {
      EXPECT_EQ(stage_of(report, name).iterations_a_frame, words) << name << ", every " << every;
    }
    EXPECT_LE(stage_of(report, "compact_pixels").iterations_a_frame, words + 1) << "every " << every;
    EXPECT_EQ(stage_of(report, "integrate_frames").iterations_a_frame, 12) << "every " << every;
  }
}

TEST(CycleReport, BinsHitAgainAndAgainCostNoClock) {
  const Frame frame = packed_frame(7);
  const CycleReport apart = report_on(make_plan(24), {frame});
  const CycleReport together = report_on(make_plan(24, Splitting::kNo, Range{0, 1e6}), {frame});
  EXPECT_EQ(apart.clocks_a_frame, together.clocks_a_frame);
  for (std::size_t i = 0; i < apart.stages.size(); ++i) {
    EXPECT_EQ(apart.stages[i].iterations_a_frame, together.stages[i].iterations_a_frame)
        << apart.stages[i].name;
  }
}

TEST(CycleReport, PixelsOverManyBinsCostBeats) {
  const CycleReport narrow = report_on(make_plan(10, Splitting::kBoundingBox), {plain_frame()});
  const CycleReport wide = report_on(make_plan(1000, Splitting::kBoundingBox), {plain_frame()});
  EXPECT_EQ(stage_of(narrow, "integrate_frames").iterations_a_frame, 12);
  EXPECT_GT(stage_of(wide, "read_table").iterations_a_frame, 100);
  EXPECT_EQ(wide.limiting_stage().name, "read_table");
}

TEST(CycleReport, FewPixelsAndManyBinsAreLimitedByDraining) {
  const CycleReport report = report_on(make_plan(400), {plain_frame()});
  EXPECT_EQ(stage_of(report, "integrate_frames").iterations_a_frame, 100);
  EXPECT_EQ(report.limiting_stage().name, "write_missing");
  EXPECT_EQ(report.limiting_stage().iterations_a_frame, 200);
}

TEST(CycleReport, AveragesOfFramesAddUpToALaunchOfAllOfThem) {
  const auto plan = make_plan(100);
  const std::vector<Frame> frames = {packed_frame(0), packed_frame(1), packed_frame(3)};
  const CycleReport report = report_on(plan, frames);
  const std::vector<const Frame*> pointers = {&frames[0], &frames[1], &frames[2]};
  const DevicePlan packed = pack_plan(*plan, {}, "test");
  for (const auto mode : {annulus_sim::Mode::kSequential, annulus_sim::Mode::kConcurrent}) {
    annulus_sim::Launch launch(mode);
    launch.run([&] { call_kernel(packed, Codec::kByteOffset, PixelType::kI32, pack_frames(pointers)); });
    for (const annulus_sim::StageReport& stage : launch.report().stages) {
      const StageCycles& cycles = stage_of(report, stage.name);
      EXPECT_NEAR(static_cast<double>(stage.iterations),
                  3 * cycles.iterations_a_frame + cycles.iterations_a_launch, 1e-6)
          << stage.name;
    }
  }
}

TEST(CycleReport, ReplayDoesNotDependOnHowTheLaunchRan) {
  const DevicePlan plan = pack_plan(*make_plan(100, Splitting::kBoundingBox), {}, "test");
  const Frame frame = packed_frame(3);
  const std::vector<const Frame*> frames(5, &frame);
  const auto record = [&](annulus_sim::Mode mode) {
    annulus_sim::Launch launch(mode);
    launch.record_steps();
    launch.run([&] { call_kernel(plan, Codec::kByteOffset, PixelType::kI32, pack_frames(frames)); });
    return launch.report();
  };
  const annulus_sim::LaunchReport in_sequence = record(annulus_sim::Mode::kSequential);
  const annulus_sim::LaunchReport at_once = record(annulus_sim::Mode::kConcurrent);
  for (std::size_t i = 0; i < in_sequence.stages.size(); ++i) {
    EXPECT_EQ(in_sequence.stages[i].steps, at_once.stages[i].steps) << in_sequence.stages[i].name;
  }
  EXPECT_EQ(annulus_sim::replay(in_sequence).clocks, annulus_sim::replay(at_once).clocks);
  EXPECT_EQ(annulus_sim::replay(in_sequence).high_water, annulus_sim::replay(at_once).high_water);
}

TEST(CycleReport, ClocksAreNoFewerThanIterationsAndHighWaterFitsTheDepth) {
  const CycleReport report = report_on(make_plan(50, Splitting::kBoundingBox), {packed_frame(3)});
  EXPECT_GE(report.clocks_a_frame, report.limiting_stage().iterations_a_frame);
  EXPECT_LE(report.clocks_a_frame, 2 * report.limiting_stage().iterations_a_frame);
  for (const FifoUse& fifo : report.fifos) {
    EXPECT_GE(fifo.high_water, 1u) << fifo.name;
    EXPECT_LE(fifo.high_water, fifo.depth) << fifo.name;
    EXPECT_GE(fifo.elements_a_frame, 1) << fifo.name;
  }
}

TEST(CycleReport, FramesThatCannotBeReportedOnAreRefused) {
  const auto expect_refused = [](const std::vector<Frame>& frames, const std::string& word) {
    try {
      report_on(make_plan(10), frames);
      ADD_FAILURE() << "accepted; expected: " << word;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(word));
    }
  };
  expect_refused({packed_frame(0), plain_frame()}, "reduce_raw");
  Frame damaged = packed_frame(1);
  damaged.payload = Bytes(std::vector<std::byte>(damaged.payload.data(), damaged.payload.data() + 100));
  expect_refused({damaged}, "the frame is damaged");
  Frame small = plain_frame();
  small.shape = {4, 4};
  expect_refused({small}, "4 x 4");
}

TEST(CycleCounter, SaysWhatAnEngineGivesAndHowManyAreNeeded) {
  const CycleReport report = report_on(make_plan(10), {testing::block_frame(plain_frame())});
  EXPECT_EQ(report.kernel, "reduce_bslz4");
  ASSERT_TRUE(report.engines.has_value());
  EXPECT_EQ(report.engines->engines, static_cast<unsigned>(kernels::kLz4Engines));
  EXPECT_EQ(report.engines->bytes_a_frame, 4.0 * kShape.size());
  EXPECT_EQ(report.engines->lane_bytes, 64);
  double iterations = 0;
  for (const StageCycles& stage : report.stages) {
    if (stage.name.starts_with("decode_blocks[")) iterations += stage.iterations_a_frame;
  }
  EXPECT_EQ(report.engines->bytes_an_iteration, 4.0 * kShape.size() / iterations);
  EXPECT_FALSE(report_on(make_plan(10), {plain_frame()}).engines.has_value());

  EngineUse use;
  use.lane_bytes = 64;
  for (const auto& [bytes, needed] : {std::pair{16.0, 4u}, {15.9, 5u}, {12.8, 5u}, {12.7, 6u}, {8.0, 8u}}) {
    use.bytes_an_iteration = bytes;
    EXPECT_EQ(use.needed(), needed) << bytes;
  }
}

}  // namespace
}  // namespace annulus
