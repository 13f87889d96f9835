// A whole run: what the program, Python and a server have in common.
#include <annulus/engine/run.hpp>
#include <annulus/geometry/geometry.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/sources/streams.hpp>

#include <gmock/gmock.h>

#include <filesystem>

#include "message_of.hpp"
#include "scan_files.hpp"

namespace annulus::testing {
namespace {

using ::testing::HasSubstr;

IntegrateConfig config_of(const ScratchFolder& folder, const ScanFiles& scan) {
  IntegrateConfig config;
  config.inputs = scan.urls;
  config.poni = folder.write("a.poni", format_poni(small_geometry(scan.shape)));
  config.raw_shape = {scan.shape.rows, scan.shape.cols};
  config.integration = scan.plan->options;
  config.recipe = scan.recipe;
  config.output = folder.file("a.nxs");
  config.backend_options.threads = 2;
  return config;
}

TEST(Run, GivesAnOutputAndAReport) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 4, 2);
  RunHooks hooks;
  std::uint64_t written = 0;
  bool planned = false;
  hooks.planned = [&](const Plan& plan) { planned = plan.bins() == 10; };
  hooks.progress = [&](const ReductionProgress& now) {
    EXPECT_TRUE(planned);
    EXPECT_EQ(now.expected, 8u);
    written = now.frames;
  };
  const RunReport report = run(config_of(folder, scan), hooks);
  EXPECT_EQ(report.summary.frames, 8u);
  EXPECT_EQ(written, 8u);
  EXPECT_FALSE(report.failed || report.output_removed || report.summary.interrupted);
  EXPECT_EQ(report.output, folder.file("a.nxs"));
  EXPECT_EQ(read_patterns(report.output).frames.size(), 8u);
}

TEST(Run, TakesFramesFromElsewhere) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 1, 3);
  IntegrateConfig config = config_of(folder, scan);
  run(config);
  config.inputs.clear();
  config.output = folder.file("b.nxs");
  std::vector<Frame> frames;
  for (const auto& pixels : scan.pixels) {
    frames.push_back(raw_frame(scan.shape, PixelType::kI32, pixels));
    frames.back().id = {};
  }
  const auto stream = stream_memory(std::move(frames), "camera");
  const RunReport report = run(config, *stream);
  EXPECT_EQ(report.summary.frames, 3u);
  const auto from_files = read_patterns(folder.file("a.nxs")), from_memory = read_patterns(report.output);
  EXPECT_EQ(from_memory.frames[2].source, "camera");
  EXPECT_EQ(from_memory.frames[2].frame_in_source, 2u);
  EXPECT_EQ(from_memory.intensities, from_files.intensities);
}

TEST(Run, AnOutputWithoutAFrameIsTakenAway) {
  const ScratchFolder folder;
  ScanFiles scan(folder, 2, 1);
  scan.urls.insert(scan.urls.begin(), folder.write("short.raw", "123"));
  const RunReport report = run(config_of(folder, scan));
  EXPECT_TRUE(report.failed);
  EXPECT_TRUE(report.output_removed);
  ASSERT_TRUE(report.summary.first_fault);
  EXPECT_THAT(report.summary.first_fault->what(), HasSubstr("short.raw"));
  EXPECT_FALSE(std::filesystem::exists(report.output));
}

TEST(Run, ABackendThatIsNotThereCostsNoOutput) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 1, 1);
  IntegrateConfig config = config_of(folder, scan);
  config.backend = "none";
  EXPECT_THROW(run(config), Error);
  EXPECT_FALSE(std::filesystem::exists(config.output));
}

TEST(Run, AResultNeverReplacesWhatItIsMadeFrom) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 1, 1);
  IntegrateConfig config = config_of(folder, scan);
  config.format = OutputFormat::kNexus;
  config.output = scan.urls[0];
  config.overwrite = true;
  EXPECT_THAT(message_of(ErrorKind::kOutput, [&] { run(config); }), HasSubstr("names an input of this run"));
}

TEST(Run, AStopBeforeTheFirstFrameIsAnInterruption) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 1, 1);
  std::filesystem::create_directories(folder.path() / "empty");
  IntegrateConfig config = config_of(folder, scan);
  config.inputs = {folder.file("empty")};
  config.follow = true;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THAT(message_of(ErrorKind::kInterrupted, [&] { run(config, RunHooks{}, stop.get_token()); }),
              HasSubstr("before the first frame"));
  EXPECT_FALSE(std::filesystem::exists(config.output));
}

}  // namespace
}  // namespace annulus::testing
