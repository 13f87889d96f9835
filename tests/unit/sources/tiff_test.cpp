#include <gmock/gmock.h>
#include <tiffio.h>

#include <functional>
#include <thread>

#include "test_files.hpp"

namespace annulus {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

using TiffTest = FormatsTest;

struct TiffPage {
  std::uint32_t rows = 0, cols = 0;
  std::uint16_t bits = 8, format = SAMPLEFORMAT_UINT, compression = COMPRESSION_NONE, samples = 1;
  std::uint32_t strip_rows = 1, tile = 0;
  std::string data;  // rows as they are packed
};

void write_page(TIFF* tiff, const TiffPage& page) {
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, page.cols);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, page.rows);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, page.bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, page.format);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, page.samples);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, page.compression);
  const std::size_t row_bytes = (page.cols * page.bits * page.samples + 7) / 8;
  ASSERT_EQ(page.data.size(), page.rows * row_bytes);
  if (page.tile > 0) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, page.tile);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, page.tile);
    const std::size_t tile_row = page.tile * page.bits / 8;
    for (std::uint32_t row = 0; row < page.rows; row += page.tile) {
      for (std::uint32_t col = 0; col < page.cols; col += page.tile) {
        std::string tile(tile_row * page.tile, '\x55');
        for (std::uint32_t r = 0; r < page.tile && row + r < page.rows; ++r) {
          const std::size_t first = col * page.bits / 8;
          const std::size_t count = std::min<std::size_t>(tile_row, row_bytes - first);
          tile.replace(r * tile_row, count, page.data, (row + r) * row_bytes + first, count);
        }
        ASSERT_GT(TIFFWriteTile(tiff, tile.data(), col, row, 0, 0), 0);
      }
    }
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, page.strip_rows);
    for (std::uint32_t row = 0; row < page.rows; ++row) {
      std::string line = page.data.substr(row * row_bytes, row_bytes);
      ASSERT_EQ(TIFFWriteScanline(tiff, line.data(), row), 1);
    }
  }
  ASSERT_EQ(TIFFWriteDirectory(tiff), 1);
}

void write_tiff(const std::string& path, const std::vector<TiffPage>& pages, const char* mode = "w") {
  TIFF* tiff = TIFFOpen(path.c_str(), mode);
  ASSERT_NE(tiff, nullptr);
  for (const auto& page : pages) write_page(tiff, page);
  TIFFClose(tiff);
}

template <typename T>
TiffPage page_of(std::uint32_t rows, std::uint32_t cols, std::uint16_t format, const std::vector<T>& pixels) {
  TiffPage page;
  page.rows = rows;
  page.cols = cols;
  page.bits = 8 * sizeof(T);
  page.format = format;
  page.data = bytes_of(pixels);
  return page;
}

// The smallest file there is, byte by byte: 2 x 2 pixels of uint8.
std::string tiny_tiff(const std::function<void(std::string&)>& change = {}) {
  std::string text("II*\0\x08\0\0\0", 8);
  text += std::string("\x07\0", 2);
  const auto entry = [&](int tag, int type, int value) {
    for (const int part : {tag & 255, tag >> 8, type, 0, 1, 0, 0, 0, value & 255, value >> 8, 0, 0})
      text += static_cast<char>(part);
  };
  entry(256, 4, 2);
  entry(257, 4, 2);
  entry(258, 3, 8);
  entry(262, 3, 1);
  entry(273, 4, 98);
  entry(278, 4, 2);
  entry(279, 4, 4);
  text += std::string("\0\0\0\0", 4);
  text += "abcd";
  if (change) change(text);
  return text;
}

TEST_F(TiffTest, ReadsTheSmallestFile) {
  const auto source = open_source(write("a.tif", tiny_tiff()));
  EXPECT_EQ(source->info().format, "TIFF");
  EXPECT_EQ(source->info().shape, (Shape{2, 2}));
  EXPECT_THAT(pixels_of<char>(source->read(0)), ElementsAre('a', 'b', 'c', 'd'));
}

template <typename T>
void check_type(const std::string& path, std::uint16_t format, PixelType type) {
  std::vector<T> pixels;
  for (int i = 0; i < 21; ++i) pixels.push_back(static_cast<T>(i * 37 - (std::is_signed_v<T> ? 300 : 0)));
  for (const char* mode : {"wl", "wb", "w8"}) {
    for (const std::uint32_t strip : {1u, 2u, 100u}) {
      auto page = page_of<T>(7, 3, format, pixels);
      page.strip_rows = strip;
      write_tiff(path, {page}, mode);
      const auto source = open_source(path);
      ASSERT_EQ(source->info().type, type);
      ASSERT_THAT(pixels_of<T>(source->read(0)), ElementsAreArray(pixels)) << mode << strip;
    }
  }
}

TEST_F(TiffTest, ReadsEveryTypeInBothByteOrdersAndBigTiff) {
  check_type<std::uint8_t>(path("a"), SAMPLEFORMAT_UINT, PixelType::kU8);
  check_type<std::uint16_t>(path("a"), SAMPLEFORMAT_UINT, PixelType::kU16);
  check_type<std::uint32_t>(path("a"), SAMPLEFORMAT_UINT, PixelType::kU32);
  check_type<std::uint64_t>(path("a"), SAMPLEFORMAT_UINT, PixelType::kU64);
  check_type<std::int8_t>(path("a"), SAMPLEFORMAT_INT, PixelType::kI8);
  check_type<std::int16_t>(path("a"), SAMPLEFORMAT_INT, PixelType::kI16);
  check_type<std::int32_t>(path("a"), SAMPLEFORMAT_INT, PixelType::kI32);
  check_type<float>(path("a"), SAMPLEFORMAT_IEEEFP, PixelType::kF32);
  check_type<double>(path("a"), SAMPLEFORMAT_IEEEFP, PixelType::kF64);
}

TEST_F(TiffTest, ReadsCompressedStripsAndTiles) {
  std::vector<std::uint16_t> pixels(50 * 37);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint16_t>(i * i >> 3);
  for (const int compression :
       {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS}) {
    for (const std::uint32_t tile : {0u, 16u, 64u}) {
      auto page = page_of<std::uint16_t>(50, 37, SAMPLEFORMAT_UINT, pixels);
      page.compression = static_cast<std::uint16_t>(compression);
      page.tile = tile;
      page.strip_rows = 8;
      write_tiff(path("a"), {page});
      ASSERT_THAT(pixels_of<std::uint16_t>(open_source(path("a"))->read(0)), ElementsAreArray(pixels))
          << compression << " tile " << tile;
    }
  }
}

TEST_F(TiffTest, ReadsOneBitMasks) {
  TiffPage page{.rows = 2, .cols = 11, .bits = 1, .data = std::string("\xa0\x20\x00\x40", 4)};
  write_tiff(path("a"), {page});
  const auto mask = read_mask(path("a"));
  EXPECT_THAT(mask.pixels, ElementsAre(1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1,  //
                                       0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0));
  page.cols = 32;
  page.rows = 17;
  page.tile = 16;
  page.data = std::string(17 * 4, '\xff');
  write_tiff(path("a"), {page});
  EXPECT_THAT(read_mask(path("a")).pixels, Each(1));
}

TEST_F(TiffTest, TakesPagesAsFramesFromSeveralThreads) {
  std::vector<TiffPage> pages;
  for (std::int32_t i = 0; i < 20; ++i)
    pages.push_back(page_of<std::int32_t>(1, 2, SAMPLEFORMAT_INT, {i, -i}));
  write_tiff(path("a"), pages);
  const auto source = open_source(path("a"));
  ASSERT_EQ(source->info().frames, 20u);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = thread; i < 20; ++i) {
        EXPECT_THAT(pixels_of<std::int32_t>(source->read(static_cast<std::uint64_t>(i))), ElementsAre(i, -i));
      }
    });
  }
}

TEST_F(TiffTest, RefusesWhatIsNoDetectorImage) {
  const auto refuse = [&](const TiffPage& page) {
    write_tiff(path("bad"), {page});
    return open_fault(path("bad"));
  };
  EXPECT_THAT(refuse({.rows = 1, .cols = 1, .samples = 3, .data = "rgb"}), HasSubstr("3 samples per pixel"));
  EXPECT_THAT(refuse({.rows = 1, .cols = 2, .bits = 4, .data = "a"}), HasSubstr("4 bits of sample format 1"));
  EXPECT_THAT(refuse({.rows = 1, .cols = 2, .bits = 16, .format = SAMPLEFORMAT_IEEEFP, .data = "abcd"}),
              HasSubstr("16 bits of sample format 3"));
  write_tiff(path("bad"), {{.rows = 1, .cols = 1, .data = "a"}, {.rows = 1, .cols = 2, .data = "ab"}});
  EXPECT_THAT(open_fault(path("bad")), HasSubstr("page 2 is 1 x 2 uint8, but page 1 is 1 x 1 uint8"));
}

TEST_F(TiffTest, RefusesDamagedFilesWithoutPrinting) {
  ::testing::internal::CaptureStderr();
  const std::string good = tiny_tiff();
  for (std::size_t size = 4; size < good.size(); ++size) {
    SCOPED_TRACE(size);
    open_fault(write("cut", good.substr(0, size)));
  }
  const auto put = [](std::size_t at, std::uint32_t value) {
    return [=](std::string& text) { std::memcpy(text.data() + at, &value, 4); };
  };
  // Entries are 12 bytes from byte 10 on; a value is in the last 4.
  open_fault(write("bad", tiny_tiff(put(10 + 8, 0))));           // width 0
  open_fault(write("bad", tiny_tiff(put(10 + 8, 0x7fffffff))));  // width
  EXPECT_THAT(open_fault(write("bad", tiny_tiff(put(22 + 8, 100000)))),
              HasSubstr("strip 1 is not in the file"));
  open_fault(write("bad", tiny_tiff(put(10 + 4 * 12 + 8, 99))));  // strip beyond the end
  open_fault(write("bad", tiny_tiff(put(94, 8))));                // directories in a circle
  open_fault(write("bad", tiny_tiff(put(4, 0xfffffff0))));        // directory beyond the end
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(TiffTest, TakesNoMemoryForAClaim) {
  TiffPage page{.rows = 16,
                .cols = 16,
                .compression = COMPRESSION_ADOBE_DEFLATE,
                .strip_rows = 16,
                .data = std::string(256, 'x')};
  write_tiff(path("a"), {page});
  TIFF* tiff = TIFFOpen(path("a").c_str(), "r+");
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 60000u);
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 30000u);
  TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 60000u);
  ASSERT_EQ(TIFFRewriteDirectory(tiff), 1);
  TIFFClose(tiff);
  EXPECT_THAT(open_fault(path("a")), HasSubstr("claims 1800000000 bytes of pixels"));
}

}  // namespace
}  // namespace annulus
