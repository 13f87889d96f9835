// Files that appear complete or not at all, and files mapped into memory.
#include <annulus/core/atomic_file.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/guarded_mapping.hpp>
#include <annulus/core/read_file.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "scratch_folder.hpp"

namespace annulus::testing {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFile, AppearsOnlyWhenCommittedAndReplacesWhatWasThere) {
  const ScratchFolder folder;
  const fs::path path = folder.write("a", "old");
  {
    AtomicFile file(path);
    file.write(bytes_of("new "));
    EXPECT_EQ(content_of(path), "old");
    file.write(bytes_of("content"));
    file.commit();
  }
  EXPECT_EQ(content_of(path), "new content");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(AtomicFile, LeavesNothingBehindWithoutCommit) {
  const ScratchFolder folder;
  { AtomicFile(folder.file("a")).write(bytes_of("half")); }
  EXPECT_EQ(files_in(folder.path()), 0u);
}

TEST(AtomicFile, WritersOfOneNameDoNotDisturbEachOther) {
  const ScratchFolder folder;
  const fs::path path = folder.file("a");
  const auto content = [](int writer) { return std::string(100000, static_cast<char>('a' + writer)); };
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < 8; ++writer) {
      writers.emplace_back([&, writer] {
        for (int round = 0; round < 5; ++round) {
          AtomicFile file(path);
          for (int half = 0; half < 2; ++half)
            file.write(bytes_of(content(writer).substr(half * 50000, 50000)));
          file.commit();
        }
      });
    }
  }
  const std::string found = content_of(path);
  ASSERT_EQ(found.size(), 100000u);
  EXPECT_EQ(found, content(found[0] - 'a'));
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(AtomicFile, RemovesWhatKilledWritersOfTheSameNameLeftLongAgo) {
  const ScratchFolder folder;
  const fs::path old = folder.write("a.0123456789abcdef-0.part", "x"),
                 fresh = folder.write("a.0123456789abcdee-0.part", "x");
  const fs::path other = folder.write("b.0123456789abcdef-0.part", "x"),
                 unlike = folder.write("a.mine.part", "x");
  for (const fs::path& path : {old, other, unlike}) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  AtomicFile file(folder.file("a"));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh) && fs::exists(other) && fs::exists(unlike));
}

TEST(AtomicFile, SaysWhereItCannotWrite) {
  const ScratchFolder folder;
  folder.write("plain", "");
  try {
    AtomicFile file(folder.file("plain/a"));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutput);
    EXPECT_EQ(error.where(), folder.file("plain/a"));
  }
}

TEST(MappedFile, ShowsTheContentAlsoAfterTheFileIsReplacedOrRemoved) {
  const ScratchFolder folder;
  const fs::path path = folder.write("a", "before");
  const auto mapped = map_file(path, ErrorKind::kInput);
  AtomicFile next(path);
  next.write(bytes_of("after"));
  next.commit();
  fs::remove(path);
  ASSERT_TRUE(mapped);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped->data()), mapped->size()), "before");
}

TEST(MappedFile, IsReadWhereMappingIsForbidden) {
  const ScratchFolder folder;
  const std::string content(1'000'000, 'x');
  const fs::path path = folder.write("a", content);
  allow_mapping(false);
  const auto read = map_file(path, ErrorKind::kInput);
  allow_mapping(true);
  fs::resize_file(path, 0);  // would end the process if it were mapped
  ASSERT_TRUE(read);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(read->data()), read->size()), content);
}

TEST(MappedFile, NoFileIsNoneAndWhatIsNoFileIsAnError) {
  const ScratchFolder folder;
  EXPECT_FALSE(map_file(folder.file("missing"), ErrorKind::kInput));
  EXPECT_FALSE(map_file(folder.write("plain", "") + "/a", ErrorKind::kInput));
  EXPECT_TRUE(map_file(folder.file("plain"), ErrorKind::kInput)->empty());
  EXPECT_THROW(map_file(folder.path(), ErrorKind::kInput), Error);
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_THROW(map_file(folder.file("pipe"), ErrorKind::kInput), Error);
}

}  // namespace
}  // namespace annulus::testing
