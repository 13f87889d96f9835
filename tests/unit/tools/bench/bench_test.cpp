#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tools/bench/bench.hpp>
#include <tools/bench/scratch_folder.hpp>

#include <fstream>

namespace annulus {
namespace {

BenchOptions small_options() {
  BenchOptions options;
  options.simulation.detector = "Pilatus100k";
  options.frames = 2;
  options.scan_frames = 3;
  options.rounds = 1;
  return options;
}

TEST(Bench, NamesInMessagesAreThoseThatExist) {
  BenchOptions options = small_options();
  options.only = {"sped"};
  try {
    run_bench(options, {});
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    for (const std::string& name : bench_names()) EXPECT_THAT(error.cure(), ::testing::HasSubstr(name));
  }
}

TEST(Bench, EndsWhenAskedToStop) {
  BenchOptions options = small_options();
  options.only = {"decode"};
  std::stop_source stop;
  stop.request_stop();
  BenchMonitor monitor;
  monitor.stop = stop.get_token();
  try {
    run_bench(options, monitor);
    FAIL() << "it went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInterrupted);
  }
}

TEST(Bench, LeavesNothingOpenInTheOptionsItReports) {
  BenchOptions options = small_options();
  options.only = {"normalise"};
  const BenchReport report = run_bench(options, {});
  EXPECT_EQ(report.options.instruction_sets, available_instruction_sets());
  EXPECT_FALSE(report.options.threads.empty());
  EXPECT_EQ(report.options.error_models, (std::vector{ErrorModel::kNone, ErrorModel::kPoisson}));
  EXPECT_EQ(report.figures.size(), 2u);
  EXPECT_EQ(report.frames_in_memory, 2u);
  EXPECT_EQ(report.shape, (Shape{195, 487}));
}

TEST(ScratchFolder, IsEmptyAndGoneAfterwards) {
  std::filesystem::path path;
  {
    const ScratchFolder folder("");
    path = folder.path();
    EXPECT_TRUE(std::filesystem::is_empty(path));
    std::ofstream(path / "file") << "content";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ScratchFolder, NamesTheFolderInWhichNoneCanBeMade) {
  try {
    const ScratchFolder folder("/nowhere/at/all");
    FAIL() << "it was made";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutput);
    EXPECT_EQ(error.where(), "/nowhere/at/all");
  }
}

}  // namespace
}  // namespace annulus
