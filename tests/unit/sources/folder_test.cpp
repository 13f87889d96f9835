// Folders that grow while they are read.
#include <annulus/codecs/decode_frame.hpp>
#include <annulus/sources/file_stream.hpp>
#include <annulus/sources/writers.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "drain.hpp"
#include "message_of.hpp"
#include "scratch_folder.hpp"

namespace annulus::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Shape kShape{4, 5};
constexpr double kForEver = 600;

void pause(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string little_endian(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// Pixels first and their directory at the end, as libtiff writes, or the other way round.
std::string tiff_of(const std::vector<std::int32_t>& pixels, bool directory_first) {
  constexpr std::uint32_t kHeader = 8, kFields = 10, kDirectory = 2 + 12 * kFields + 4;
  const auto bytes = static_cast<std::uint32_t>(4 * pixels.size());
  const std::uint32_t place = directory_first ? kHeader + kDirectory : kHeader;
  const std::pair<std::uint32_t, std::uint32_t> fields[kFields] = {
      {256, kShape.cols}, {257, kShape.rows}, {258, 32},          {259, 1},     {262, 1},
      {273, place},       {277, 1},           {278, kShape.rows}, {279, bytes}, {339, 2}};
  std::string directory = little_endian(kFields, 2);
  for (const auto& [tag, value] : fields)
    directory += little_endian(tag, 2) + little_endian(4, 2) + little_endian(1, 4) + little_endian(value, 4);
  directory += little_endian(0, 4);
  const std::string data(reinterpret_cast<const char*>(pixels.data()), bytes);
  const std::string header =
      std::string("II*\0", 4) + little_endian(directory_first ? kHeader : kHeader + bytes, 4);
  return header + (directory_first ? directory + data : data + directory);
}

// Frames whose pixels are all `value`, as a file of that kind.
std::string file_of(const std::string& extension, std::int32_t value) {
  const std::vector<std::int32_t> pixels(kShape.size(), value);
  if (extension == ".tif" || extension == ".tiff") return tiff_of(pixels, extension == ".tiff");
  const fs::path path = fs::temp_directory_path() / fmt::format("annulus-folder-test-{}-{}", getpid(), value);
  extension == ".cbf" ? write_cbf(path, kShape, pixels)
                      : write_edf(path, Image<std::int32_t>{kShape, pixels});
  std::string content = content_of(path);
  fs::remove(path);
  return content;
}

// As far as its writer came: the pixels are not all there.
std::string cut(const std::string& content) {
  const std::size_t binary = content.find("\x0c\x1a\x04\xd5");  // of CBF, which ends with padding
  return content.substr(0, binary == std::string::npos ? content.size() - 60 : binary + 10);
}

class FolderTest : public ::testing::TestWithParam<bool> {
 protected:
  // Quick, so that tests are: a file settles after 0.3 s.
  FileStream follow(double timeout) const { return FileStream(watch(timeout), files_); }

  std::unique_ptr<FolderWatch> watch(double timeout) const {
    FolderSettings settings;
    settings.timeout = timeout;
    settings.use_inotify = GetParam();
    settings.poll_seconds = 0.05;
    settings.settle_seconds = 0.3;
    return std::make_unique<FolderWatch>(folder_.path().string(), std::move(settings));
  }

  // As a detector's program does it, with time in between.
  void write_in_pieces(const std::string& name, const std::string& content, std::size_t pieces = 5) const {
    std::ofstream file(folder_.path() / name, std::ios::binary);
    for (std::size_t i = 0; i < pieces; ++i) {
      const std::size_t from = content.size() * i / pieces, to = content.size() * (i + 1) / pieces;
      file.write(content.data() + from, static_cast<std::streamsize>(to - from)).flush();
      pause(10);
    }
  }

  static void expect_frame(const std::optional<Item>& item, std::uint64_t index, const std::string& name,
                           std::int32_t value) {
    ASSERT_TRUE(item) << name;
    ASSERT_TRUE(item->frame) << item->fault->what();
    EXPECT_EQ(item->id.index, index);
    EXPECT_EQ(fs::path(item->id.source).filename(), name);
    EXPECT_THAT(decode_frame(*item->frame).pixels, ::testing::Each(value)) << name;
  }

  ScratchFolder folder_;
  FileStreamSettings files_ = {};
};

INSTANTIATE_TEST_SUITE_P(Folder, FolderTest, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Told" : "Listed"; });

TEST_P(FolderTest, FilesWrittenInPiecesComeWholeAndInNaturalOrder) {
  for (const std::string extension : {".cbf", ".edf", ".tif"}) {
    for (const auto& entry : fs::directory_iterator(folder_.path())) fs::remove(entry);
    FileStream stream = follow(kForEver);
    std::jthread writer([&] {
      for (int i = 8; i < 13; ++i)
        write_in_pieces(fmt::format("img_{}{}", i, extension), file_of(extension, 100 + i));
    });
    EXPECT_EQ(stream.info({}).frames.shape, kShape);
    for (int i = 8; i < 13; ++i) {
      expect_frame(next_item(stream), static_cast<std::uint64_t>(i - 8),
                   fmt::format("img_{}{}", i, extension), 100 + i);
    }
  }
}

TEST_P(FolderTest, FilesThatAreThereComeFirst) {
  for (const int i : {10, 2, 1}) folder_.write(fmt::format("img_{}.edf", i), file_of(".edf", i));
  FileStream stream = follow(kForEver);
  expect_frame(next_item(stream), 0, "img_1.edf", 1);
  expect_frame(next_item(stream), 1, "img_2.edf", 2);
  expect_frame(next_item(stream), 2, "img_10.edf", 10);
  folder_.write("img_11.edf", file_of(".edf", 11));
  expect_frame(next_item(stream), 3, "img_11.edf", 11);
}

TEST_P(FolderTest, TemporaryNamesDoNotCount) {
  FileStream stream = follow(kForEver);
  const std::string content = file_of(".cbf", 1);
  fs::create_directories(folder_.path() / "folder.cbf");
  for (const char* name : {".img_0.cbf", "img_0.cbf.part", "notes.txt"}) folder_.write(name, content);
  folder_.write("img_1.cbf.part", content);
  fs::rename(folder_.path() / "img_1.cbf.part", folder_.path() / "img_1.cbf");
  expect_frame(next_item(stream), 0, "img_1.cbf", 1);
  folder_.write("img_2.cbf", content);
  expect_frame(next_item(stream), 1, "img_2.cbf", 1);
}

TEST_P(FolderTest, AFileThatIsNotCompleteHoldsBackThoseBehindIt) {
  const std::string first = file_of(".cbf", 1);
  folder_.write("img_1.cbf", cut(first));
  folder_.write("img_2.cbf", file_of(".cbf", 2));
  FileStream stream = follow(kForEver);
  std::jthread writer([&] {
    pause(700);
    std::ofstream(folder_.path() / "img_1.cbf", std::ios::binary | std::ios::app)
        << first.substr(cut(first).size());
  });
  expect_frame(next_item(stream), 0, "img_1.cbf", 1);
  expect_frame(next_item(stream), 1, "img_2.cbf", 2);
}

TEST_P(FolderTest, AFileThatIsNeverCompletedIsABadFrameOfItsName) {
  for (const std::string extension : {".cbf", ".edf", ".tif", ".tiff"}) {
    for (const auto& entry : fs::directory_iterator(folder_.path())) fs::remove(entry);
    const std::string content = file_of(extension, 1);
    folder_.write("img_1" + extension, cut(content));
    folder_.write("img_2" + extension, content);
    FileStream stream = follow(0.6);
    const auto bad = next_item(stream);
    ASSERT_TRUE(bad && bad->fault);
    EXPECT_THAT(bad->fault->what(), AllOf(HasSubstr("img_1" + extension), HasSubstr("was not completed")));
    EXPECT_EQ(bad->id.index, 0u);
    EXPECT_EQ(fs::path(bad->id.source).filename(), "img_1" + extension);
    expect_frame(next_item(stream), 1, "img_2" + extension, 1);
    EXPECT_FALSE(next_item(stream));
  }
}

TEST_P(FolderTest, AFileThatComesLateIsNotLost) {
  FileStream stream = follow(kForEver);
  folder_.write("img_2.cbf", file_of(".cbf", 2));
  expect_frame(next_item(stream), 0, "img_2.cbf", 2);
  folder_.write("img_1.cbf", file_of(".cbf", 1));
  expect_frame(next_item(stream), 1, "img_1.cbf", 1);
}

TEST_P(FolderTest, TheScanEndsWhenNothingComes) {
  FileStream empty = follow(0.2);
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { empty.info({}); }), HasSubstr("no frame came"));
  folder_.write("img_1.cbf", file_of(".cbf", 1));
  FileStream stream = follow(0.5);
  EXPECT_EQ(stream.info({}).frames.shape, kShape);
  EXPECT_EQ(stream.expected(), 0u);  // nobody knows
  expect_frame(next_item(stream), 0, "img_1.cbf", 1);
  EXPECT_FALSE(next_item(stream));
}

TEST_P(FolderTest, AskingToStopEndsTheWaiting) {
  for (const bool empty : {true, false}) {
    if (!empty) folder_.write("img_1.cbf", file_of(".cbf", 1));
    FileStream stream = follow(kForEver);
    std::stop_source stop;
    if (!empty) expect_frame(next_item(stream, stop.get_token()), 0, "img_1.cbf", 1);
    const std::jthread asking([&] {
      pause(100);
      stop.request_stop();
    });
    if (empty) {
      EXPECT_THROW(stream.info(stop.get_token()), Error);
    }
    EXPECT_FALSE(next_item(stream, stop.get_token()));
  }
}

TEST_P(FolderTest, WhoHoldsFramesBackIsToldThatNoneComes) {
  folder_.write("img_1.cbf", file_of(".cbf", 1));
  FileStream stream = follow(kForEver);
  stream.info({});
  ASSERT_TRUE(std::holds_alternative<Frame>(stream.next({}).value()));
  EXPECT_TRUE(std::holds_alternative<Pause>(stream.next({}).value()));
  folder_.write("img_2.cbf", file_of(".cbf", 2));
  EXPECT_TRUE(std::holds_alternative<Frame>(stream.next({}).value()));
}

TEST_P(FolderTest, Hdf5FilesHaveToBeNamed) {
  FileStream stream = follow(0.3);
  folder_.write("scan_master.h5", "x");
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { stream.info({}); }), HasSubstr("scan_master.h5"));
}

TEST_P(FolderTest, AnHdf5FileIsNoReasonNotToWaitForImages) {
  folder_.write("result.h5", "x");
  FileStream stream = follow(kForEver);
  const std::jthread writing([&] {
    pause(100);
    folder_.write("img_1.cbf", file_of(".cbf", 1));
  });
  expect_frame(next_item(stream), 0, "img_1.cbf", 1);
}

// A listing that takes long is not repeated often, and nobody else tells of files on a network.
TEST(Folder, AFolderIsListedOnceMoreBeforeItIsGivenUp) {
  const ScratchFolder folder;
  FolderSettings settings;
  settings.use_inotify = false;
  settings.poll_seconds = kForEver;
  settings.settle_seconds = 0.1;
  settings.timeout = 0.4;
  FileStream stream(std::make_unique<FolderWatch>(folder.path().string(), std::move(settings)), {});
  const std::jthread writing([&] {
    pause(100);
    folder.write("img_1.cbf", file_of(".cbf", 1));
  });
  EXPECT_EQ(stream.info({}).frames.shape, kShape);
}

// With images behind each other in one file, every image could be the last: only its writer knows.
TEST(Folder, AFileIsNotCompleteAsLongAsItsWriterHasIt) {
  const ScratchFolder folder;
  FolderSettings settings;
  settings.timeout = kForEver;
  settings.settle_seconds = 0.1;
  FileStream stream(std::make_unique<FolderWatch>(folder.path().string(), std::move(settings)), {});
  std::jthread writer([&] {
    std::ofstream file(folder.path() / "scan.edf", std::ios::binary);
    for (int i = 0; i < 3; ++i) {
      file << file_of(".edf", i) << std::flush;
      pause(300);
    }
  });
  EXPECT_EQ(stream.info({}).frames.frames, 3u);
}

TEST(Folder, WhereNobodyTellsOfItsWriterAFileIsCompleteWhenItChangesNoMore) {
  const ScratchFolder folder;
  FolderSettings settings;
  settings.timeout = kForEver;
  settings.use_inotify = false;
  settings.poll_seconds = 0.05;
  settings.settle_seconds = 2;  // many times as long as the pauses, so that a machine may be slow
  FileStream stream(std::make_unique<FolderWatch>(folder.path().string(), std::move(settings)), {});
  std::jthread writer([&] {
    std::ofstream file(folder.path() / "scan.edf", std::ios::binary);
    for (int i = 0; i < 4; ++i) {
      pause(100);
      file << file_of(".edf", i) << std::flush;
    }
    pause(3000);  // it is not closed meanwhile
  });
  EXPECT_EQ(stream.info({}).frames.frames, 4u);
}

TEST(Folder, ARenamedFileCountsAtOnce) {
  const ScratchFolder folder;
  FolderSettings settings;
  settings.timeout = settings.settle_seconds = settings.poll_seconds = kForEver;
  FolderWatch watch(folder.path().string(), std::move(settings));
  folder.write("img_1.cbf.part", file_of(".cbf", 1));
  std::jthread writer([&] {
    pause(100);
    fs::rename(folder.path() / "img_1.cbf.part", folder.path() / "img_1.cbf");
  });
  const auto arrival = watch.next({});
  ASSERT_TRUE(arrival && arrival->source);
  EXPECT_EQ(arrival->path, folder.file("img_1.cbf"));
}

}  // namespace
}  // namespace annulus::testing
