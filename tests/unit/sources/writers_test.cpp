#include <annulus/sources/writers.hpp>

#include <gmock/gmock.h>

#include <climits>

#include "test_files.hpp"

namespace annulus {
namespace {

using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pair;

using WritersTest = FormatsTest;

TEST_F(WritersTest, CbfHoldsPixelsChecksumAndMetadata) {
  const std::vector<std::int32_t> pixels = {0, -1, -2, INT_MAX, INT_MIN, 5, 128, -128};
  CbfMetadata metadata;
  metadata.detector = "Simulated\n1M";
  metadata.pixel_size_x = 172e-6;
  metadata.pixel_size_y = 75e-6;
  metadata.exposure_time = 0.25;
  metadata.count_cutoff = 1048575;
  metadata.wavelength = 1.03e-10;
  metadata.distance = 0.2;
  metadata.beam_xy = {{12.5, 7.25}};
  write_cbf(path("a.cbf"), {2, 4}, pixels, metadata);
  OpenOptions verify;
  verify.verify_checksum = true;
  const auto source = open_source(path("a.cbf"), verify);
  EXPECT_EQ(source->info().shape, (Shape{2, 4}));
  EXPECT_EQ(source->info().max_count, 1048575);
  EXPECT_DOUBLE_EQ(source->info().wavelength.value(), 1.03e-10);
  EXPECT_THAT(source->info().header, Contains(Pair("Detector", "Simulated_1M")));
  EXPECT_THAT(source->info().header, Contains(Pair("Pixel_size", "172e-6 m x 75e-6 m")));
  EXPECT_THAT(source->info().header, Contains(Pair("Beam_xy", "(12.500, 7.250) pixels")));
  EXPECT_THAT(read_image(path("a.cbf"), verify).pixels, ElementsAreArray(pixels));
}

TEST_F(WritersTest, CbfHasTheLayoutOfAPilatus) {
  write_cbf(path("a.cbf"), {1, 2}, std::vector<std::int32_t>{1, 2});
  const auto text = slurp(path("a.cbf"));
  EXPECT_THAT(text, HasSubstr("X-Binary-Size: 2\r\n"));
  EXPECT_THAT(text, HasSubstr("Content-MD5: JJumJ3dYBQaV6PWQm6zW0w==\r\n"));  // of the bytes 1, 1, by md5sum
  EXPECT_TRUE(text.ends_with(std::string("\x0c\x1a\x04\xd5\x01\x01", 6) + std::string(4095, '\0') +
                             "\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n\r\n"));
}

TEST_F(WritersTest, EdfHoldsEveryTypeBehindAWholeNumberOfBlocks) {
  const auto check = [&](auto zero, PixelType type) {
    using T = decltype(zero);
    const Image<T> image{{2, 3}, {T(1), T(2), T(3), T(4), T(5), T(250)}};
    for (const std::size_t length : {0, 100, 200, 300, 1000}) {
      write_edf(path("a.edf"), image, {{"note", std::string(length, 'n')}, {"odd;key", "a;b{c}"}});
      const auto text = slurp(path("a.edf"));
      const auto end = text.find("}\n");
      ASSERT_EQ((end + 2) % 512, 0u);
      ASSERT_EQ(text.size(), end + 2 + 6 * sizeof(T));
      ASSERT_THAT(text, HasSubstr("EDF_HeaderSize = "));
      const auto source = open_source(path("a.edf"));
      ASSERT_EQ(source->info().type, type);
      ASSERT_THAT(pixels_of<T>(source->read(0)), ElementsAreArray(image.pixels));
      ASSERT_THAT(source->info().header, Contains(Pair("odd_key", "a_b_c_")));
    }
  };
  check(std::uint8_t{}, PixelType::kU8);
  check(std::int32_t{}, PixelType::kI32);
  check(float{}, PixelType::kF32);
  check(double{}, PixelType::kF64);
}

TEST_F(WritersTest, ReportWhatCannotBeWritten) {
  const auto fault = [](auto action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOutput);
      return error.what();
    }
    return "no error";
  };
  const std::vector<std::int32_t> pixels = {1, 2};
  EXPECT_THAT(fault([&] { write_cbf("/dev/full", {1, 2}, pixels); }), HasSubstr("No space left on device"));
  EXPECT_THAT(fault([&] {
                write_edf("/dev/full", Image<std::int32_t>{{1, 2}, pixels});
              }),
              HasSubstr("No space left"));
  EXPECT_THAT(fault([&] {
                write_cbf(path("no/such/folder.cbf"), {1, 2}, pixels);
              }),
              HasSubstr("No such file"));
  EXPECT_THAT(fault([&] {
                write_cbf(path("a"), {1, 3}, pixels);
              }),
              HasSubstr("2 pixels do not make an image of 1 x 3"));
  EXPECT_THAT(fault([&] {
                write_edf(path("a"), Image<std::int32_t>{{1, 2}, pixels}, {{"dim_1", "7"}});
              }),
              HasSubstr("reserved"));
}

}  // namespace
}  // namespace annulus
