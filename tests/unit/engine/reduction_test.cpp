#include <annulus/backends/registry.hpp>
#include <annulus/core/error.hpp>
#include <annulus/engine/reduction.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "naive_reduction.hpp"
#include "scan_files.hpp"

namespace annulus::testing {
namespace {

// Keeps what it gets, and fails at a given frame if asked to.
class MemorySink : public Sink {
 public:
  std::vector<ReducedFrame> frames;
  std::size_t fail_at = SIZE_MAX;

  void append(const std::vector<ReducedFrame>& batch) override {
    for (const ReducedFrame& frame : batch) {
      if (frames.size() == fail_at) throw Error(ErrorKind::kOutput, "memory", "full");
      frames.push_back(frame);
    }
  }
  void flush() override {}
  void close() override {}
};

ReductionSettings settings_for(const ScanFiles& scan) {
  ReductionSettings settings;
  settings.open = scan.open;
  settings.readers = 3;
  return settings;
}

std::unique_ptr<Backend> loaded_backend(const ScanFiles& scan) {
  auto backend = make_backend("cpu", {3});
  backend->load(scan.plan);
  return backend;
}

TEST(Reduction, WritesEveryFrameInOrderWithItsNumbers) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 30, 7);
  MemorySink sink;
  std::uint64_t last_progress = 0;
  const ReductionSummary summary = reduce_files(scan.urls, scan.plan, *loaded_backend(scan), sink,
                                                settings_for(scan), [&](const ReductionProgress& progress) {
                                                  EXPECT_GE(progress.frames, last_progress);
                                                  last_progress = progress.frames;
                                                });
  EXPECT_EQ(summary.frames, 210u);
  EXPECT_EQ(summary.bad, 0u);
  EXPECT_EQ(last_progress, 210u);
  EXPECT_EQ(summary.payload_bytes, 210u * scan.shape.size() * 4);
  ASSERT_EQ(sink.frames.size(), 210u);
  for (std::size_t i = 0; i < 210; ++i) {
    EXPECT_EQ(sink.frames[i].id.index, i);
    EXPECT_EQ(sink.frames[i].id.source, scan.urls[i / 7]);
    EXPECT_EQ(sink.frames[i].accumulators, reduce_naively(*scan.plan, scan.pixels[i], 0));
    EXPECT_EQ(sink.frames[i].pattern.intensity.size(), 10u);
  }
}

TEST(Reduction, BadFrameEndsTheScanAfterTheFramesBeforeIt) {
  const ScratchFolder folder;
  ScanFiles scan(folder, 30, 1);
  scan.urls[17] = folder.write("short.raw", "123");
  MemorySink sink;
  const ReductionSummary summary =
      reduce_files(scan.urls, scan.plan, *loaded_backend(scan), sink, settings_for(scan));
  ASSERT_TRUE(summary.first_fault);
  EXPECT_THAT(summary.first_fault->what(), ::testing::HasSubstr("short.raw"));
  EXPECT_EQ(sink.frames.size(), 17u);
  EXPECT_EQ(summary.frames, 17u);
}

TEST(Reduction, KeepGoingRecordsBadFramesInTheirPlace) {
  const ScratchFolder folder;
  ScanFiles scan(folder, 30, 1);
  scan.urls[0] = folder.file("missing.raw");
  scan.urls[17] = folder.write("short.raw", "123");
  MemorySink sink;
  ReductionSettings settings = settings_for(scan);
  settings.keep_going = true;
  const ReductionSummary summary = reduce_files(scan.urls, scan.plan, *loaded_backend(scan), sink, settings);
  EXPECT_EQ(summary.frames, 30u);
  EXPECT_EQ(summary.bad, 2u);
  for (std::size_t i = 0; i < 30; ++i) {
    const bool bad = i == 0 || i == 17;
    EXPECT_EQ(!sink.frames[i].fault.empty(), bad) << i;
    EXPECT_EQ(sink.frames[i].pattern.intensity.empty(), bad) << i;
    if (bad) continue;
    EXPECT_EQ(sink.frames[i].accumulators, reduce_naively(*scan.plan, scan.pixels[i], 0));
  }
}

TEST(Reduction, SinkThatFailsEndsTheScanWithItsError) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 60, 5);
  MemorySink sink;
  sink.fail_at = 42;
  try {
    reduce_files(scan.urls, scan.plan, *loaded_backend(scan), sink, settings_for(scan));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutput);
  }
  EXPECT_EQ(sink.frames.size(), 42u);
}

TEST(Reduction, StopRequestEndsTheScanInOrder) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 60, 5);
  MemorySink sink;
  ReductionSettings settings = settings_for(scan);
  std::atomic<bool> stop = false;
  settings.stop_requested = &stop;
  const ReductionSummary summary = reduce_files(scan.urls, scan.plan, *loaded_backend(scan), sink, settings,
                                                [&](const ReductionProgress&) { stop = true; });
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(sink.frames.size(), summary.frames);
  EXPECT_LT(summary.frames, 300u);
  for (std::size_t i = 0; i < sink.frames.size(); ++i) EXPECT_EQ(sink.frames[i].id.index, i);
}

TEST(Reduction, SmallMemoryStillReducesEverything) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 20, 2);
  MemorySink sink;
  ReductionSettings settings = settings_for(scan);
  settings.memory_for_frames = 1;
  EXPECT_EQ(reduce_files(scan.urls, scan.plan, *loaded_backend(scan), sink, settings).frames, 40u);
}

TEST(Reduction, ProbeSkipsUnreadableFilesAndReportsTheFirstIfAllAre) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 1, 1);
  const FrameProperties found = probe_frames({folder.file("missing.raw"), scan.urls[0]}, scan.open);
  EXPECT_EQ(found.shape, scan.shape);
  EXPECT_EQ(found.name, scan.urls[0]);
  try {
    probe_frames({folder.file("missing.raw"), folder.file("also.raw")}, scan.open);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("missing.raw"));
  }
}

}  // namespace
}  // namespace annulus::testing
