#include <annulus/backends/registry.hpp>
#include <annulus/core/error.hpp>
#include <annulus/engine/inputs.hpp>
#include <annulus/engine/reduce.hpp>
#include <annulus/sources/file_stream.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

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

FileStreamSettings files_of(const ScanFiles& scan) {
  FileStreamSettings files;
  files.open = scan.open;
  files.threads = 3;
  return files;
}

std::unique_ptr<Backend> loaded_backend(const ScanFiles& scan) {
  auto backend = make_backend("cpu", {3});
  backend->load({scan.plan, scan.recipe});
  return backend;
}

ReductionSummary reduce_scan(const ScanFiles& scan, Sink& sink, const ReductionSettings& settings = {},
                             std::stop_token stop = {},
                             const std::function<void(const ReductionProgress&)>& on_progress = {}) {
  FileStreamSettings files = files_of(scan);
  files.memory = settings.memory_for_frames;
  FileStream stream(scan.urls, std::move(files));
  return reduce(stream, {scan.plan, scan.recipe}, *loaded_backend(scan), sink, settings, stop, on_progress);
}

TEST(Reduction, WritesEveryFrameInOrderWithItsNumbers) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 30, 7);
  MemorySink sink;
  std::uint64_t last_progress = 0;
  const ReductionSummary summary = reduce_scan(scan, sink, {}, {}, [&](const ReductionProgress& progress) {
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
    EXPECT_EQ(sink.frames[i].sums, reduce_naively(*scan.plan, scan.pixels[i], 0, scan.recipe));
    EXPECT_EQ(sink.frames[i].pattern.intensity.size(), 10u);
  }
}

TEST(Reduction, BadFrameEndsTheScanAfterTheFramesBeforeIt) {
  const ScratchFolder folder;
  ScanFiles scan(folder, 30, 1);
  scan.urls[17] = folder.write("short.raw", "123");
  MemorySink sink;
  const ReductionSummary summary = reduce_scan(scan, sink);
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
  ReductionSettings settings;
  settings.keep_going = true;
  const ReductionSummary summary = reduce_scan(scan, sink, settings);
  EXPECT_EQ(summary.frames, 30u);
  EXPECT_EQ(summary.bad, 2u);
  for (std::size_t i = 0; i < 30; ++i) {
    const bool bad = i == 0 || i == 17;
    EXPECT_EQ(!sink.frames[i].fault.empty(), bad) << i;
    EXPECT_EQ(sink.frames[i].pattern.intensity.empty(), bad) << i;
    if (bad) continue;
    EXPECT_EQ(sink.frames[i].sums, reduce_naively(*scan.plan, scan.pixels[i], 0, scan.recipe));
  }
}

TEST(Reduction, SinkThatFailsEndsTheScanWithItsError) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 60, 5);
  MemorySink sink;
  sink.fail_at = 42;
  try {
    reduce_scan(scan, sink);
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
  std::stop_source stop;
  const ReductionSummary summary =
      reduce_scan(scan, sink, {}, stop.get_token(), [&](const ReductionProgress&) { stop.request_stop(); });
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(sink.frames.size(), summary.frames);
  EXPECT_LT(summary.frames, 300u);
  for (std::size_t i = 0; i < sink.frames.size(); ++i) EXPECT_EQ(sink.frames[i].id.index, i);
}

TEST(Reduction, SmallMemoryStillReducesEverything) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 20, 2);
  MemorySink sink;
  ReductionSettings settings;
  settings.memory_for_frames = 1;
  EXPECT_EQ(reduce_scan(scan, sink, settings).frames, 40u);
}

// Hands out one frame, then says for ever that the next is not there: whoever waits has to be woken.
class WaitingStream : public FrameStream {
 public:
  explicit WaitingStream(Frame frame) : frame_(std::move(frame)) { info_.name = "waiting"; }

  const ScanInfo& info(std::stop_token) override { return info_; }
  std::optional<StreamItem> next(std::stop_token stop) override {
    switch (calls_++) {
      case 0:
        return frame_;
      case 1:
        return Pause{};
      default:
        while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return std::nullopt;
    }
  }

 private:
  Frame frame_;
  ScanInfo info_;
  int calls_ = 0;
};

TEST(Reduction, AFrameIsWrittenWhileTheNextIsWaitedFor) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 1, 1);
  WaitingStream stream(raw_frame(scan.shape, PixelType::kI32, scan.pixels[0]));
  MemorySink sink;
  std::stop_source stop;
  const ReductionSummary summary = reduce(stream, {scan.plan, scan.recipe}, *loaded_backend(scan), sink, {},
                                          stop.get_token(), [&](const ReductionProgress& now) {
                                            EXPECT_EQ(now.frames, 1u);
                                            EXPECT_EQ(now.expected, 0u);
                                            stop.request_stop();
                                          });
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(summary.frames, 1u);
}

TEST(Reduction, ASinkThatFailsEndsTheWaitingForFrames) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 1, 1);
  WaitingStream stream(raw_frame(scan.shape, PixelType::kI32, scan.pixels[0]));
  MemorySink sink;
  sink.fail_at = 0;
  EXPECT_THROW(reduce(stream, {scan.plan, scan.recipe}, *loaded_backend(scan), sink), Error);
}

TEST(Reduction, WhatAStreamThrowsComesThroughAfterTheFramesBeforeIt) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 1, 5);
  struct Failing : FrameStream {
    explicit Failing(FrameStream& good) : good(good) {}
    const ScanInfo& info(std::stop_token stop) override { return good.info(stop); }
    std::optional<StreamItem> next(std::stop_token stop) override {
      auto item = good.next(stop);
      if (!item) throw Error(ErrorKind::kInput, "detector", "it does not answer");
      return item;
    }
    FrameStream& good;
  };
  std::vector<Frame> frames;
  for (const auto& pixels : scan.pixels) frames.push_back(raw_frame(scan.shape, PixelType::kI32, pixels));
  const auto good = stream_memory(std::move(frames));
  Failing stream(*good);
  MemorySink sink;
  EXPECT_THROW(reduce(stream, {scan.plan, scan.recipe}, *loaded_backend(scan), sink), Error);
  EXPECT_EQ(sink.frames.size(), 5u);
}

TEST(Reduction, PointsGoWithTheirFrames) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 1, 20);
  std::vector<Frame> frames;
  for (const auto& pixels : scan.pixels) {
    frames.push_back(raw_frame(scan.shape, PixelType::kI32, pixels));
    frames.back().point = {static_cast<double>(frames.size())};
    frames.back().id = {};
  }
  const auto stream = stream_memory(std::move(frames), "memory", {"motor"});
  MemorySink sink;
  EXPECT_EQ(reduce(*stream, {scan.plan, scan.recipe}, *loaded_backend(scan), sink).frames, 20u);
  for (std::size_t i = 0; i < sink.frames.size(); ++i) {
    EXPECT_EQ(sink.frames[i].point, std::vector<double>{static_cast<double>(i + 1)});
    EXPECT_EQ(describe(sink.frames[i].id), "memory, frame " + std::to_string(i));
  }
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
