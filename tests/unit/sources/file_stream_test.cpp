#include <annulus/core/buffer_pool.hpp>
#include <annulus/sources/file_stream.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "drain.hpp"
#include "message_of.hpp"
#include "scratch_folder.hpp"

namespace annulus::testing {
namespace {

using ::testing::HasSubstr;

// Raw frames of 2 x 3 pixels, all of which are the frame's number.
struct RawScan {
  static constexpr Shape kShape{2, 3};
  std::vector<std::string> urls;
  FileStreamSettings settings;

  RawScan(const ScratchFolder& folder, std::size_t files, std::size_t frames_per_file) {
    settings.open.raw_shape = kShape;
    for (std::size_t file = 0; file < files; ++file) {
      std::string content;
      for (std::size_t i = 0; i < frames_per_file; ++i) {
        const std::vector<std::int32_t> pixels(kShape.size(),
                                               static_cast<std::int32_t>(file * frames_per_file + i));
        content.append(reinterpret_cast<const char*>(pixels.data()), 4 * pixels.size());
      }
      urls.push_back(folder.write("frame_" + std::to_string(file) + ".raw", content));
    }
  }
};

bool all_pixels_are(const Frame& frame, std::size_t value) {
  const std::vector<std::int32_t> expected(frame.shape.size(), static_cast<std::int32_t>(value));
  return std::ranges::equal(frame.payload.view(), std::as_bytes(std::span(expected)));
}

TEST(FileStream, HandsOutAllFramesOfAllFilesInOrder) {
  const ScratchFolder folder;
  RawScan scan(folder, 40, 3);
  for (const unsigned threads : {1u, 4u}) {
    for (const bool asked : {false, true}) {
      scan.settings.threads = threads;
      FileStream stream(scan.urls, scan.settings);
      stream.read_ahead(5);
      if (asked) {
        EXPECT_EQ(stream.info({}).frames.shape, RawScan::kShape);
        EXPECT_EQ(stream.expected(), 120u);
      }
      for (std::size_t i = 0; i < 120; ++i) {
        const auto item = next_item(stream);
        ASSERT_TRUE(item && item->frame) << i;
        EXPECT_EQ(item->id.index, i);
        EXPECT_EQ(item->id.source, scan.urls[i / 3]);
        EXPECT_EQ(item->id.in_source, i % 3);
        EXPECT_TRUE(all_pixels_are(*item->frame, i));
      }
      EXPECT_FALSE(next_item(stream));
      EXPECT_EQ(stream.expected(), 120u);
    }
  }
}

TEST(FileStream, LeavesOutWhatIsKnownAndCountsTheRest) {
  const ScratchFolder folder;
  RawScan scan(folder, 9, 4);
  std::filesystem::remove(scan.urls[3]);  // a bad frame, known like others
  const auto is_known = [&](const FrameId& id) {
    const auto file = static_cast<std::size_t>(std::ranges::find(scan.urls, id.source) - scan.urls.begin());
    return file < 2 || file == 3 || file == 8 || (file == 5 && id.in_source != 2);
  };
  for (const unsigned threads : {1u, 4u}) {
    for (const bool asked : {false, true}) {
      scan.settings.threads = threads;
      FileStream stream(scan.urls, scan.settings);
      if (asked) stream.info({});
      stream.leave_out(is_known);
      std::vector<std::size_t> got;
      while (const auto item = next_item(stream)) {
        ASSERT_TRUE(item->frame);
        EXPECT_EQ(item->id.index, got.size());
        for (std::size_t value = 0; value < 36; ++value)
          if (all_pixels_are(*item->frame, value)) got.push_back(value);
      }
      EXPECT_THAT(got,
                  ::testing::ElementsAre(8, 9, 10, 11, 16, 17, 18, 19, 22, 24, 25, 26, 27, 28, 29, 30, 31));
      EXPECT_EQ(stream.left_out(), 4u + 4 + 1 + 3 + 4);
    }
  }
}

TEST(FileStream, BadFilesKeepTheirPlace) {
  const ScratchFolder folder;
  RawScan scan(folder, 6, 1);
  scan.urls[0] = scan.urls[2] = folder.file("missing.raw");
  scan.urls[4] = folder.write("short.raw", "12345");
  for (const bool asked : {false, true}) {
    FileStream stream(scan.urls, scan.settings);
    if (asked) {
      EXPECT_EQ(stream.info({}).name, scan.urls[1]);
    }
    for (std::size_t i = 0; i < 6; ++i) {
      const auto item = next_item(stream);
      ASSERT_TRUE(item);
      EXPECT_EQ(item->id.index, i);
      EXPECT_EQ(item->id.source, scan.urls[i]);
      EXPECT_EQ(item->fault.has_value(), i % 2 == 0) << i;
    }
    EXPECT_FALSE(next_item(stream));
  }
}

TEST(FileStream, TheFirstFileIsOpenedOnce) {
  const ScratchFolder folder;
  RawScan scan(folder, 2, 3);
  FileStream stream(scan.urls, scan.settings);
  EXPECT_EQ(stream.info({}).name, scan.urls[0]);
  EXPECT_FALSE(stream.info({}).count);
  std::filesystem::remove(scan.urls[0]);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto item = next_item(stream);
    ASSERT_TRUE(item && item->frame) << i;
    EXPECT_TRUE(all_pixels_are(*item->frame, i));
  }
}

TEST(FileStream, IfNoFileCanBeReadTheFirstSaysWhy) {
  const ScratchFolder folder;
  FileStream stream({folder.file("missing.raw"), folder.file("also.raw")}, {});
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { stream.info({}); }), HasSubstr("missing.raw"));
}

TEST(FileStream, OfASingleFileTheCountIsKnown) {
  const ScratchFolder folder;
  RawScan scan(folder, 1, 7);
  EXPECT_EQ(FileStream(scan.urls, scan.settings).info({}).count, 7u);
}

TEST(FileStream, WhatAFrameIsRefusedForBecomesItsFault) {
  const ScratchFolder folder;
  RawScan scan(folder, 3, 1);
  scan.settings.check_frame = [](const Frame& frame) {
    if (frame.id.source.ends_with("frame_1.raw")) throw std::runtime_error("odd");
  };
  FileStream stream(scan.urls, scan.settings);
  EXPECT_FALSE(next_item(stream)->fault);
  const auto odd = next_item(stream);
  ASSERT_TRUE(odd->fault);
  EXPECT_THAT(odd->fault->what(), HasSubstr("frame_1.raw: odd"));
  EXPECT_FALSE(next_item(stream)->fault);
}

TEST(FileStream, FilesButTheFirstAreChecked) {
  const ScratchFolder folder;
  RawScan scan(folder, 3, 1);
  scan.settings.check_file = [](const FrameSource&, const std::string& url) {
    throw Error(ErrorKind::kInput, url, "other");
  };
  FileStream stream(scan.urls, scan.settings);
  stream.info({});
  EXPECT_FALSE(next_item(stream)->fault);
  EXPECT_TRUE(next_item(stream)->fault);
  EXPECT_TRUE(next_item(stream)->fault);
}

TEST(FileStream, StopsEarlyWithoutHanging) {
  const ScratchFolder folder;
  RawScan scan(folder, 50, 2);
  scan.settings.threads = 4;
  FileStream stream(scan.urls, scan.settings);
  std::stop_source stop;
  EXPECT_TRUE(next_item(stream, stop.get_token()));
  stop.request_stop();
  EXPECT_FALSE(next_item(stream, stop.get_token()));
}

// Memory is given back when the last copy of a frame is gone, whoever has it, and may be after the stream.
TEST(FileStream, PausesWhenFramesHandedOutHaveTheMemory) {
  const ScratchFolder folder;
  RawScan scan(folder, 20, 1);
  scan.settings.memory = 2 * BufferPool::most_for(RawScan::kShape.size() * 4);
  std::vector<Frame> held;
  std::size_t pauses = 0, frames = 0;
  std::size_t most = 0;
  {
    FileStream stream(scan.urls, scan.settings);
    while (auto item = stream.next({})) {
      if (std::holds_alternative<Pause>(*item)) {
        ++pauses;
        EXPECT_FALSE(held.empty());
        held.clear();
        continue;
      }
      held.push_back(std::get<Frame>(std::move(*item)));
      held.push_back(held.back());
      most = std::max(most, held.size());
      EXPECT_TRUE(all_pixels_are(held.back(), frames++));
    }
  }
  EXPECT_EQ(frames, 20u);
  EXPECT_GE(pauses, 9u);
  EXPECT_LE(most, 4u);  // two frames, twice each
}

TEST(FileStream, GoesOnWhenAnotherThreadLetsFramesGo) {
  const ScratchFolder folder;
  RawScan scan(folder, 30, 1);
  scan.settings.memory = 1;
  FileStream stream(scan.urls, scan.settings);
  std::jthread releasing;
  for (std::size_t i = 0; i < 30; ++i) {
    auto item = next_item(stream);
    ASSERT_TRUE(item && item->frame) << i;
    releasing = std::jthread([frame = *std::move(item->frame)]() mutable {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      frame.payload = {};
    });
  }
  EXPECT_FALSE(next_item(stream));
}

TEST(MemoryStream, HandsOutItsFramesWithNumbersAndPoints) {
  std::vector<Frame> frames(3);
  for (Frame& frame : frames) frame.shape = {1, 1};
  frames[1].id = {0, "camera", 40, true};
  frames[2].point = {1.5};
  const auto stream = stream_memory(frames, "live", {"x"});
  EXPECT_EQ(stream->info({}).count, 3u);
  EXPECT_EQ(stream->expected(), 3u);
  EXPECT_EQ(stream->info({}).columns, (std::vector<ColumnInfo>{{"x"}}));
  EXPECT_EQ(describe(next_item(*stream)->id), "live, frame 0");
  const auto second = next_item(*stream);
  EXPECT_EQ(second->id.index, 1u);
  EXPECT_EQ(describe(second->id), "camera, frame 40");
  EXPECT_EQ(next_item(*stream)->frame->point, std::vector<double>{1.5});
  EXPECT_FALSE(next_item(*stream));
  EXPECT_THAT(message_of(ErrorKind::kInput, [] { stream_memory({}, "nothing")->info({}); }),
              HasSubstr("nothing"));
}

}  // namespace
}  // namespace annulus::testing
