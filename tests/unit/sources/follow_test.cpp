// Files that grow while they are read.
#include <annulus/hdf5/handle.hpp>
#include <annulus/sources/file_stream.hpp>
#include <annulus/sources/writers.hpp>

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <thread>

#include "drain.hpp"
#include "scratch_folder.hpp"

namespace annulus::testing {
namespace {

using ::testing::HasSubstr;

// A stack of frames of 2 x 3 pixels, all of which are the frame's number, that is opened for every frame.
class GrowingStack {
 public:
  GrowingStack(std::string path, std::uint64_t frames, std::uint64_t promised,
               std::uint64_t frames_a_chunk = 1)
      : path_(std::move(path)), frames_a_chunk_(frames_a_chunk) {
    const Hdf5Session session;
    const Hdf5Handle file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(links.get(), 1);
    const std::array<hsize_t, 3> extent = {frames, 2, 3}, chunk = {frames_a_chunk_, 2, 3};
    const Hdf5Handle space(H5Screate_simple(3, extent.data(), nullptr), H5Sclose);
    const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(properties.get(), 3, chunk.data());
    const Hdf5Handle data(H5Dcreate2(file.get(), "/entry/data/data", H5T_STD_I32LE, space.get(), links.get(),
                                     properties.get(), H5P_DEFAULT),
                          H5Dclose);
    EXPECT_TRUE(data);
    if (promised == 0) return;
    const Hdf5Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
    const Hdf5Handle number(H5Dcreate2(file.get(), "/entry/instrument/detector/detectorSpecific/nimages",
                                       H5T_STD_U64LE, scalar.get(), links.get(), H5P_DEFAULT, H5P_DEFAULT),
                            H5Dclose);
    H5Dwrite(number.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &promised);
  }

  void write(std::uint64_t i) const {
    const Hdf5Session session;
    const Hdf5Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    ASSERT_TRUE(file) << hdf5_reason();
    const Hdf5Handle data(H5Dopen2(file.get(), "/entry/data/data", H5P_DEFAULT), H5Dclose);
    const std::array<hsize_t, 3> offset = {i, 0, 0};
    const std::vector<std::int32_t> pixels(6 * frames_a_chunk_, static_cast<std::int32_t>(i));
    ASSERT_GE(H5Dwrite_chunk(data.get(), H5P_DEFAULT, 0, offset.data(), 4 * pixels.size(), pixels.data()), 0);
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::uint64_t frames_a_chunk_;
};

FileStreamSettings following(double seconds, unsigned threads) {
  FileStreamSettings settings;
  settings.open.follow = seconds;
  settings.threads = threads;
  return settings;
}

void expect_pixels(const Item& item, std::uint64_t i) {
  ASSERT_FALSE(item.fault) << item.fault->what();
  EXPECT_EQ(item.id.index, i);
  const std::vector<std::int32_t> expected(6, static_cast<std::int32_t>(i % 100));
  EXPECT_TRUE(std::ranges::equal(item.frame->payload.view(), std::as_bytes(std::span(expected)))) << i;
}

TEST(Follow, FramesAreHandedOutAsTheyComeAndTheSeriesEndsWithThePromisedOne) {
  const ScratchFolder folder;
  const GrowingStack stack(folder.file("a.h5"), 12, 12);
  stack.write(0);
  FileStream stream({stack.path()}, following(60, 2));
  stream.info({});
  std::uint64_t pauses = 0;
  for (std::uint64_t i = 0; i < 12;) {
    auto item = stream.next({});
    ASSERT_TRUE(item) << i;
    // Whoever holds frames back for a batch is told that nothing comes; then, and not before, more comes.
    if (std::holds_alternative<Pause>(*item)) {
      ++pauses;
      stack.write(i);
      if (i == 5) stack.write(6);
      continue;
    }
    ASSERT_TRUE(std::holds_alternative<Frame>(*item)) << i;
    expect_pixels({std::get<Frame>(*item).id, std::get<Frame>(*item), std::nullopt}, i);
    ++i;
  }
  EXPECT_EQ(pauses, 10u);
  EXPECT_FALSE(next_item(stream));
  EXPECT_EQ(stream.expected(), 12u);
}

TEST(Follow, FilesAreFollowedOneAfterTheOther) {
  const ScratchFolder folder;
  const GrowingStack first(folder.file("a.h5"), 3, 3), second(folder.file("b.h5"), 2, 2);
  FileStream stream({first.path(), second.path()}, following(60, 3));
  std::jthread writer([&] {
    for (std::uint64_t i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      i < 3 ? first.write(i) : second.write(i - 3);
    }
  });
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto item = next_item(stream);
    ASSERT_TRUE(item && !item->fault) << i;
    EXPECT_EQ(item->id.source, (i < 3 ? first.path() : second.path()) + "::/entry/data/data");
    EXPECT_EQ(item->id.in_source, i < 3 ? i : i - 3);
  }
  EXPECT_FALSE(next_item(stream));
}

TEST(Follow, FramesThatNeverComeAreOneFaultAtTheEnd) {
  const ScratchFolder folder;
  const GrowingStack stack(folder.file("a.h5"), 3, 20);
  stack.write(0);
  stack.write(1);
  FileStream stream({stack.path()}, following(0.2, 2));
  for (std::uint64_t i = 0; i < 2; ++i) expect_pixels(*next_item(stream), i);
  const auto last = next_item(stream);
  ASSERT_TRUE(last && last->fault);
  EXPECT_THAT(last->fault->what(), HasSubstr("a.h5: 18 of 20 frames never came"));
  EXPECT_EQ(last->id.index, 2u);
  EXPECT_EQ(last->id.in_source, 2u);
  EXPECT_FALSE(next_item(stream));
}

TEST(Follow, AFileWithoutPromiseEndsWhenNothingComes) {
  const ScratchFolder folder;
  const GrowingStack stack(folder.file("a.h5"), 2, 0);
  stack.write(0);
  stack.write(1);
  FileStream stream({stack.path()}, following(0.2, 1));
  for (std::uint64_t i = 0; i < 2; ++i) expect_pixels(*next_item(stream), i);
  EXPECT_FALSE(next_item(stream));
}

TEST(Follow, AFrameThatIsMissingDoesNotEndAScanThatGoesOn) {
  const ScratchFolder folder;
  const GrowingStack stack(folder.file("a.h5"), 8, 8);
  stack.write(0);
  FileStream stream({stack.path()}, following(1, 2));
  std::jthread writer([&] {
    for (std::uint64_t i = 2; i < 8; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      stack.write(i);
    }
  });
  for (std::uint64_t i = 0; i < 8; ++i) {
    const auto item = next_item(stream);
    ASSERT_TRUE(item) << i;
    EXPECT_EQ(item->fault.has_value(), i == 1) << i;
    if (i != 1) expect_pixels(*item, i);
  }
  EXPECT_FALSE(next_item(stream));
}

TEST(Follow, FramesThatShareAChunkAreRefused) {
  const ScratchFolder folder;
  const GrowingStack stack(folder.file("a.h5"), 8, 8, 4);
  stack.write(0);
  FileStream stream({stack.path()}, following(0.1, 1));
  const auto item = next_item(stream);
  ASSERT_TRUE(item && item->fault);
  EXPECT_THAT(item->fault->what(), HasSubstr("no chunks of their own"));
}

TEST(Follow, WhatCanNeverBeFollowedIsRefusedAtOnce) {
  const ScratchFolder folder;
  write_cbf(folder.file("a.cbf"), {2, 3}, std::vector<std::int32_t>(6));
  FileStream stream({folder.file("a.cbf")}, following(600, 1));
  const auto item = next_item(stream);
  ASSERT_TRUE(item && item->fault);
  EXPECT_THAT(item->fault->what(), HasSubstr("only HDF5 files, and folders of images, can be followed"));
}

TEST(Follow, AskingToStopEndsTheWaiting) {
  const ScratchFolder folder;
  const GrowingStack stack(folder.file("a.h5"), 2, 2);
  stack.write(0);
  std::stop_source stop;
  const auto ask_soon = [&] {
    return std::jthread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      stop.request_stop();
    });
  };
  FileStream stream({stack.path(), folder.file("absent.h5")}, following(600, 2));
  EXPECT_TRUE(next_item(stream, stop.get_token()));
  {
    const std::jthread asking = ask_soon();
    EXPECT_FALSE(next_item(stream, stop.get_token()));
  }
  stop = {};
  FileStream waiting({folder.file("absent.h5")}, following(600, 2));
  const std::jthread asking = ask_soon();
  EXPECT_THROW(waiting.info(stop.get_token()), Error);
  EXPECT_FALSE(next_item(waiting, stop.get_token()));
}

}  // namespace
}  // namespace annulus::testing
