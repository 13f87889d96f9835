#include <annulus/sources/input_file.hpp>

#include <bzlib.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_files.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;

using InputFileTest = FormatsTest;

std::string bzipped(const std::string& text) {
  std::string packed(text.size() + text.size() / 50 + 700, '\0');
  auto size = static_cast<unsigned>(packed.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(packed.data(), &size, const_cast<char*>(text.data()),
                                     static_cast<unsigned>(text.size()), 9, 0, 0),
            BZ_OK);
  packed.resize(size);
  return packed;
}

std::string content_of(const InputFile& file) {
  const Bytes bytes = file.read_all();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string varied_text() {
  std::string text;
  for (int i = 0; i < 30000; ++i) text += std::to_string(i * i) + (i % 7 ? " " : "\n");
  return text;
}

std::string fault_of(const std::string& path) {
  return input_fault([&] { InputFile file(path); });
}

TEST_F(InputFileTest, ReadsAPlainFileAndItsParts) {
  const InputFile file(write("a", "0123456789"));
  EXPECT_EQ(file.size(), 10u);
  EXPECT_EQ(content_of(file), "0123456789");
  EXPECT_EQ(file.head().size(), 10u);
  EXPECT_EQ(file.read(3, 2).view()[1], std::byte{'4'});
  EXPECT_EQ(file.read(10, 0).size(), 0u);
  std::vector<std::byte> buffer(8);
  EXPECT_EQ(file.read_some(6, buffer), 4u);
  EXPECT_EQ(file.read_some(99, buffer), 0u);
  EXPECT_EQ(file.format_name("CBF"), "CBF");
}

TEST_F(InputFileTest, RefusesToReadBeyondTheEnd) {
  const InputFile file(write("a", "0123456789"));
  EXPECT_THAT(input_fault([&] { file.read(8, 3); }),
              HasSubstr("truncated: 3 bytes at byte 8 are expected, 2 are present"));
  EXPECT_THAT(input_fault([&] { file.read(11, 1); }), HasSubstr("0 are present"));
  EXPECT_THAT(input_fault([&] { file.read(8, UINT64_MAX); }), HasSubstr("truncated"));
}

TEST_F(InputFileTest, NoticesAFileThatShrinksWhileItIsOpen) {
  const auto name = write("a", std::string(100000, 'x'));
  const InputFile file(name);
  ASSERT_EQ(::truncate(name.c_str(), 500), 0);
  EXPECT_THAT(input_fault([&] { file.read_all(); }), HasSubstr("became shorter while it was read"));
}

TEST_F(InputFileTest, SaysWhyAFileCannotBeOpened) {
  EXPECT_THAT(fault_of(path("absent")), HasSubstr("No such file or directory"));
  EXPECT_THAT(fault_of(path(".")), HasSubstr("is a directory"));
  EXPECT_THAT(fault_of(write("empty", "")), HasSubstr("the file is empty"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(fault_of(path("pipe")), HasSubstr("not a plain file"));
  const auto secret = write("secret", "x");
  ASSERT_EQ(::chmod(secret.c_str(), 0), 0);
  if (::access(secret.c_str(), R_OK) != 0) {
    EXPECT_THAT(fault_of(secret), HasSubstr("Permission denied"));
  }
}

TEST_F(InputFileTest, UnpacksGzipAndBzip2) {
  const std::string text = varied_text();
  const InputFile gzip(write("a", gzipped(text)));
  EXPECT_EQ(content_of(gzip), text);
  EXPECT_EQ(gzip.format_name("EDF"), "EDF (gzip)");
  const InputFile bzip2(write("b", bzipped(text)));
  EXPECT_EQ(content_of(bzip2), text);
  EXPECT_EQ(bzip2.format_name("EDF"), "EDF (bzip2)");
}

TEST_F(InputFileTest, UnpacksArchivesOfSeveralMembersAndWithPadding) {
  const std::string zeros(100, '\0');
  EXPECT_EQ(content_of(InputFile(write("a", gzipped("one ") + gzipped("two") + zeros))), "one two");
  EXPECT_EQ(content_of(InputFile(write("b", bzipped("one ") + bzipped("two") + zeros))), "one two");
}

TEST_F(InputFileTest, RefusesArchivesCutAtAnyByte) {
  const std::string text = varied_text().substr(0, 3000);
  for (const auto& [packed, kind] :
       {std::pair{gzipped(text), Compression::kGzip}, {bzipped(text), Compression::kBzip2}}) {
    const auto bytes = std::as_bytes(std::span(packed));
    for (std::size_t size = 0; size < packed.size(); ++size) {
      ASSERT_THAT(input_fault([&] { decompress("a", kind, bytes.first(size), 1 << 20); }),
                  HasSubstr("ends too early"))
          << size;
    }
    EXPECT_THAT(fault_of(write("a", packed.substr(0, packed.size() - 1))), HasSubstr("ends too early"));
  }
}

TEST_F(InputFileTest, RefusesCorruptArchives) {
  const std::string text = varied_text();
  for (auto packed : {gzipped(text), bzipped(text)}) {
    packed[packed.size() / 2] ^= 0x10;
    EXPECT_THAT(fault_of(write("a", packed)), HasSubstr("corrupt"));
  }
  EXPECT_THAT(fault_of(write("a", gzipped("x") + "garbage")), HasSubstr("after the end of the gzip archive"));
  EXPECT_THAT(fault_of(write("a", gzipped(""))), HasSubstr("holds an empty file"));
}

TEST_F(InputFileTest, RefusesArchivesThatUnpackToTooMuch) {
  const std::string zeros(std::size_t{1} << 20, '\0');
  for (const auto& [packed, kind] :
       {std::pair{gzipped(zeros), Compression::kGzip}, {bzipped(zeros), Compression::kBzip2}}) {
    const auto bytes = std::as_bytes(std::span(packed));
    EXPECT_EQ(decompress("a", kind, bytes, zeros.size() + 1).size(), zeros.size());
    EXPECT_THAT(input_fault([&] { decompress("a", kind, bytes, zeros.size() / 2); }),
                HasSubstr("unpacks to more than 0 MiB"));
    const std::string name = write("packed", packed);
    EXPECT_EQ(InputFile(name, 1 << 20).size(), zeros.size());
    EXPECT_THAT(input_fault([&] { InputFile(name, (1 << 20) - 1); }), HasSubstr("`memory`"));
  }
}

}  // namespace
}  // namespace annulus
