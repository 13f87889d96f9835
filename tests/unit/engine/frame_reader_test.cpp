#include <annulus/engine/frame_reader.hpp>

#include <gtest/gtest.h>

#include "scan_files.hpp"

namespace annulus::testing {
namespace {

TEST(FrameReader, HandsOutAllFramesOfAllFilesInOrder) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 40, 3);
  for (const unsigned threads : {1u, 4u}) {
    FrameReader reader(scan.urls, {scan.open, threads, 5, {}});
    for (std::size_t i = 0; i < 120; ++i) {
      const auto item = reader.next();
      ASSERT_TRUE(item && !item->fault) << i;
      EXPECT_EQ(item->frame.id.index, i);
      EXPECT_EQ(item->frame.id.source, scan.urls[i / 3]);
      EXPECT_EQ(item->frame.id.in_source, i % 3);
      const Frame expected = raw_frame(scan.shape, PixelType::kI32, scan.pixels[i]);
      EXPECT_TRUE(std::equal(expected.payload.view().begin(), expected.payload.view().end(),
                             item->frame.payload.view().begin(), item->frame.payload.view().end()));
    }
    EXPECT_FALSE(reader.next());
    EXPECT_EQ(reader.frames_expected(), 120u);
  }
}

TEST(FrameReader, BadFilesKeepTheirPlace) {
  const ScratchFolder folder;
  ScanFiles scan(folder, 6, 1);
  scan.urls[2] = folder.file("missing.raw");
  scan.urls[4] = folder.write("short.raw", "12345");
  FrameReader reader(scan.urls, {scan.open, 3, 4, {}});
  for (std::size_t i = 0; i < 6; ++i) {
    const auto item = reader.next();
    ASSERT_TRUE(item);
    EXPECT_EQ(item->frame.id.index, i);
    EXPECT_EQ(item->frame.id.source, scan.urls[i]);
    EXPECT_EQ(item->fault.has_value(), i == 2 || i == 4) << i;
  }
  EXPECT_FALSE(reader.next());
}

TEST(FrameReader, WhatPreparationThrowsBecomesTheFramesFault) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 3, 1);
  FrameReader reader(scan.urls, {scan.open, 2, 4, [](Frame frame) -> Frame {
                                   if (frame.id.source.ends_with("frame_1.raw"))
                                     throw std::runtime_error("odd");
                                   return frame;
                                 }});
  EXPECT_FALSE(reader.next()->fault);
  EXPECT_TRUE(reader.next()->fault);
  EXPECT_FALSE(reader.next()->fault);
}

TEST(FrameReader, StopsEarlyWithoutHanging) {
  const ScratchFolder folder;
  const ScanFiles scan(folder, 50, 2);
  FrameReader reader(scan.urls, {scan.open, 4, 8, {}});
  EXPECT_TRUE(reader.next());
  reader.stop();
  EXPECT_FALSE(reader.next());
}

}  // namespace
}  // namespace annulus::testing
