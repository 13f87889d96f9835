#include <gmock/gmock.h>

#include "test_files.hpp"

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using NpyTest = FormatsTest;

// As numpy.save lays a file out, byte by byte.
std::string npy(const std::string& descr, const std::string& shape, const std::string& data, int version = 1,
                const std::string& fortran = "False") {
  std::string header = "{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  const std::size_t fixed = version == 1 ? 10 : 12;
  while ((fixed + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string text = "\x93NUMPY";
  text += {static_cast<char>(version), 0};
  for (std::size_t i = 0; i < fixed - 8; ++i) text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return text + header + data;
}

TEST_F(NpyTest, ReadsImagesOfEveryType) {
  const std::pair<const char*, PixelType> types[] = {
      {"'|u1'", PixelType::kU8},  {"'|i1'", PixelType::kI8},  {"'|b1'", PixelType::kU8},
      {"'<u2'", PixelType::kU16}, {"'<i2'", PixelType::kI16}, {"'<u4'", PixelType::kU32},
      {"'<i4'", PixelType::kI32}, {"'<u8'", PixelType::kU64}, {"'<i8'", PixelType::kI64},
      {"'<f4'", PixelType::kF32}, {"'<f8'", PixelType::kF64}};
  for (const auto& [name, type] : types) {
    const std::string data(6 * size_of(type), '\1');
    const auto source = open_source(write("a.npy", npy(name, "(2, 3)", data)));
    EXPECT_EQ(source->info().format, "NPY");
    EXPECT_EQ(source->info().type, type) << name;
    EXPECT_EQ(source->info().shape, (Shape{2, 3}));
    EXPECT_EQ(source->read(0).payload.size(), data.size());
  }
}

TEST_F(NpyTest, ReadsStacksAndBothVersions) {
  for (int version : {1, 2, 3}) {
    const auto source = open_source(write("a", npy("'|u1'", "(3, 1, 2)", "abcdef", version)));
    EXPECT_EQ(source->info().frames, 3u);
    EXPECT_THAT(pixels_of<char>(source->read(2)), ElementsAre('e', 'f'));
  }
}

TEST_F(NpyTest, TurnsBigEndianRound) {
  const auto source = open_source(write("a", npy("'>i2'", "(1, 2)", std::string("\x01\x02\xff\xfe", 4))));
  EXPECT_THAT(pixels_of<std::int16_t>(source->read(0)), ElementsAre(0x0102, -2));
}

TEST_F(NpyTest, TransposesAnImageInFortranOrder) {
  const std::vector<std::uint16_t> columns = {11, 21, 12, 22, 13, 23};
  const auto source = open_source(write("a", npy("'<u2'", "(2, 3)", bytes_of(columns), 1, "True")));
  EXPECT_THAT(pixels_of<std::uint16_t>(source->read(0)), ElementsAre(11, 12, 13, 21, 22, 23));
}

TEST_F(NpyTest, CollectsFramesOfAStackInFortranOrder) {
  // Five frames of 2 x 3: element (f, r, c) is 100 f + 10 r + c, and f runs fastest.
  std::vector<std::uint16_t> elements;
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 2; ++r) {
      for (int f = 0; f < 5; ++f) elements.push_back(static_cast<std::uint16_t>(100 * f + 10 * r + c));
    }
  }
  const std::string name = write("a", npy("'<u2'", "(5, 2, 3)", bytes_of(elements), 1, "True"));
  // Two sets of one frame, of two, of all.
  for (const std::uint64_t memory : {1u, 48u, 1000u}) {
    OpenOptions options;
    options.most_unpacked = memory;
    const auto source = open_source(name, options);
    EXPECT_EQ(source->info().frames, 5u);
    EXPECT_EQ(source->info().bytes_held, memory == 1 ? 24u : memory == 48 ? 48u : 60u);
    for (const std::uint64_t i : {0u, 1u, 4u, 3u, 2u, 0u}) {
      const auto f = static_cast<std::uint16_t>(100 * i);
      EXPECT_THAT(pixels_of<std::uint16_t>(source->read(i)),
                  ElementsAre(f, f + 1, f + 2, f + 10, f + 11, f + 12));
    }
  }
}

TEST_F(NpyTest, RefusesWhatIsNoImage) {
  const auto refuse = [&](const std::string& text) { return open_fault(write("bad", text)); };
  EXPECT_THAT(refuse(npy("'|u1'", "(2,)", "ab")), HasSubstr("1 dimensions"));
  EXPECT_THAT(refuse(npy("'|u1'", "()", "a")), HasSubstr("0 dimensions"));
  EXPECT_THAT(refuse(npy("'|u1'", "(1, 1, 1, 2)", "ab")), HasSubstr("4 dimensions"));
  EXPECT_THAT(refuse(npy("'<c16'", "(1, 1)", std::string(16, ' '))), HasSubstr("<c16 are not supported"));
  EXPECT_THAT(refuse(npy("[('x', '<i4')]", "(1, 1)", "abcd")), HasSubstr("not supported"));
  EXPECT_THAT(refuse(npy("'|u1'", "(0, 2, 2)", "")), HasSubstr("0 frames"));
  EXPECT_THAT(refuse(npy("'|u1'", "(-1, 2, 2)", "abcd")), HasSubstr("-1 frames"));
  EXPECT_THAT(refuse(npy("'|u1'", "(2, 0)", "")), HasSubstr("2 rows and 0 columns"));
  EXPECT_THAT(refuse(npy("'|u1'", "(2, 2)", "abc")), HasSubstr("has 3 bytes of data"));
  EXPECT_THAT(refuse(npy("'|u1'", "(2, 2)", "abcde")), HasSubstr("has 5 bytes of data"));
  EXPECT_THAT(refuse(npy("'<f8'", "(9000000000000000000, 1000, 1000)", "abcd")),
              HasSubstr("9000000000000000000 frames"));
  EXPECT_THAT(refuse(npy("'<f8'", "(2000000, 2)", "abcd")), HasSubstr("the limit is"));
  EXPECT_THAT(refuse(npy("'|u1'", "(1, x)", "a")), HasSubstr("no valid shape"));
  EXPECT_THAT(refuse(npy("'|u1'", "(1, 1)", "a", 9)), HasSubstr("version 9"));
  EXPECT_THAT(refuse(npy("'|u1'", "(1, 1)", "a").substr(0, 40)), HasSubstr("truncated"));
  EXPECT_THAT(refuse(std::string("\x93NUMPY\x01\x00", 8)), HasSubstr("truncated"));
}

TEST_F(NpyTest, AStackInFortranOrderKeepsToTheMemoryBesideItsArchive) {
  constexpr std::size_t kFrames = 40, kFrame = 64 * 64 * 4, kStack = kFrames * kFrame;
  const std::string path =
      write("s.npy.gz", gzipped(npy("'<i4'", "(40, 64, 64)", std::string(kStack, '\1'), 1, "True")));
  OpenOptions options;
  for (const std::size_t memory : {kStack + 1000, kStack + kStack / 2, 3 * kStack}) {
    options.most_unpacked = memory;
    const auto source = open_source(path, options);
    EXPECT_LE(source->info().bytes_held, std::max(memory, kStack + 128 + 2 * kFrame)) << memory;
    EXPECT_GT(source->info().bytes_held, kStack);
  }
}

}  // namespace
}  // namespace annulus
