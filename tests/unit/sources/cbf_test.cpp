#include <annulus/codecs/byte_offset.hpp>
#include <annulus/codecs/decode_frame.hpp>

#include <gmock/gmock.h>

#include <thread>

#include "test_files.hpp"

namespace annulus {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using CbfTest = FormatsTest;

// A file by hand; every part can be changed.
struct CbfParts {
  std::string start = "###CBF: VERSION 1.5\r\n\r\ndata_x\r\n\r\n";
  std::string dectris =
      "_array_data.header_convention \"PILATUS_1.2\"\r\n_array_data.header_contents\r\n;\r\n"
      "# Detector: PILATUS 100K, S/N 1\r\n# Pixel_size 172e-6 m x 172e-6 m\r\n# Exposure_time 0.5 s\r\n"
      "# Count_cutoff 1050854 counts\r\n# Wavelength 0.68940 A\r\n# Detector_distance 0.12237 m\r\n"
      "# Beam_xy (243.82, 326.75) pixels\r\n# N_excluded_pixels = 477\r\n;\r\n\r\n";
  std::string type = "Content-Type: application/octet-stream;\r\n     conversions=\"x-CBF_BYTE_OFFSET\"\r\n";
  std::string encoding = "Content-Transfer-Encoding: BINARY\r\n";
  std::string size = "X-Binary-Size: 8\r\n";
  std::string element = "X-Binary-Element-Type: \"signed 32-bit integer\"\r\n";
  std::string order = "X-Binary-Element-Byte-Order: LITTLE_ENDIAN\r\n";
  std::string md5 = "Content-MD5: iCvaoOs1dXYzcEqzxjNqZA==\r\n";  // of the eight bytes below, by md5sum
  std::string elements = "X-Binary-Number-of-Elements: 6\r\n";
  std::string dimensions = "X-Binary-Size-Fastest-Dimension: 3\r\nX-Binary-Size-Second-Dimension: 2\r\n";
  std::string padding = "X-Binary-Size-Padding: 4095\r\n";
  std::string binary = std::string("\x01\x02\xfd\x80\x00\x01\x00\x00", 8);  // 1 3 0 256 256 256
  std::string tail = std::string(4095, '\0') + "\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n\r\n";

  std::string text() const {
    return start + dectris + "_array_data.data\r\n;\r\n--CIF-BINARY-FORMAT-SECTION--\r\n" + type + encoding +
           size + "X-Binary-ID: 1\r\n" + element + order + md5 + elements + dimensions + padding +
           "\r\n\x0c\x1a\x04\xd5" + binary + tail;
  }
};

std::string with_lf(std::string text) {
  std::string result;
  for (const char c : text) {
    if (c != '\r') result += c;
  }
  return result;
}

TEST_F(CbfTest, HandsOutTheCompressedPayloadExactly) {
  const CbfParts parts;
  const auto source = open_source(write("a.cbf", parts.text()));
  EXPECT_EQ(source->info().format, "CBF");
  EXPECT_EQ(source->info().codec, Codec::kByteOffset);
  EXPECT_EQ(source->info().type, PixelType::kI32);
  EXPECT_EQ(source->info().shape, (Shape{2, 3}));
  EXPECT_EQ(source->info().frames, 1u);
  const Frame frame = source->read(0);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size()),
            parts.binary);
  EXPECT_EQ(frame.id.source, path("a.cbf"));
  EXPECT_THAT(decode_frame(frame).pixels, ElementsAre(1, 3, 0, 256, 256, 256));
}

TEST_F(CbfTest, ReadsTheDectrisHeader) {
  const auto source = open_source(write("a", CbfParts{}.text()));
  const auto& info = source->info();
  EXPECT_EQ(info.max_count, 1050854);
  ASSERT_TRUE(info.wavelength.has_value());
  EXPECT_DOUBLE_EQ(*info.wavelength, 0.68940e-10);
  EXPECT_THAT(info.header, Contains(Pair("Detector", "PILATUS 100K, S/N 1")));
  EXPECT_THAT(info.header, Contains(Pair("Pixel_size", "172e-6 m x 172e-6 m")));
  EXPECT_THAT(info.header, Contains(Pair("Detector_distance", "0.12237 m")));
  EXPECT_THAT(info.header, Contains(Pair("Beam_xy", "(243.82, 326.75) pixels")));
  EXPECT_THAT(info.header, Contains(Pair("N_excluded_pixels", "477")));
  EXPECT_THAT(info.header, Contains(Pair("X-Binary-Size-Padding", "4095")));
}

TEST_F(CbfTest, TakesHeadersOfOtherWriters) {
  CbfParts bare;
  bare.dectris = bare.md5 = bare.padding = bare.elements = bare.element = bare.order = bare.encoding = "";
  bare.tail = "";
  EXPECT_THAT(read_image(write("bare", bare.text())).pixels, ElementsAre(1, 3, 0, 256, 256, 256));
  EXPECT_FALSE(open_source(path("bare"))->info().max_count.has_value());

  CbfParts unix_lines;
  unix_lines.binary = "@@@@@@@@";
  std::string text = with_lf(unix_lines.text());
  text.replace(text.find("@@@@@@@@"), 8, CbfParts{}.binary);
  EXPECT_THAT(read_image(write("lf", text)).pixels, ElementsAre(1, 3, 0, 256, 256, 256));
  EXPECT_EQ(open_source(path("lf"))->info().max_count, 1050854);

  CbfParts cases;
  cases.size = "x-binary-SIZE:     8  \r\n";
  cases.type = "CONTENT-TYPE: application/octet-stream; CONVERSIONS=X-CBF_BYTE_OFFSET\r\n";
  EXPECT_THAT(read_image(write("cases", cases.text())).pixels, ElementsAre(1, 3, 0, 256, 256, 256));
}

TEST_F(CbfTest, VerifiesTheChecksumOnlyWhenAsked) {
  const OpenOptions verify{.raw_shape = {}, .raw_type = {}, .raw_offset = 0, .verify_checksum = true};
  CbfParts parts;
  EXPECT_NO_THROW(open_source(write("good", parts.text()), verify)->read(0));
  parts.binary[1] = 3;
  EXPECT_NO_THROW(open_source(write("bad", parts.text()))->read(0));
  EXPECT_THAT(open_fault(path("bad"), verify), HasSubstr("the header says iCvaoOs1dXYzcEqzxjNqZA=="));
  parts.md5 = "";
  EXPECT_NO_THROW(open_source(write("none", parts.text()), verify)->read(0));
}

TEST_F(CbfTest, DecodesOtherElementTypesToTheirOwn) {
  CbfParts parts;
  parts.md5 = "";
  parts.element = "X-Binary-Element-Type: \"unsigned 16-bit integer\"\r\n";
  const auto source = open_source(write("u16", parts.text()));
  EXPECT_EQ(source->info().type, PixelType::kU16);
  EXPECT_EQ(source->info().codec, Codec::kRaw);
  EXPECT_THAT(pixels_of<std::uint16_t>(source->read(0)), ElementsAre(1, 3, 0, 256, 256, 256));

  parts.element = "X-Binary-Element-Type: \"unsigned 8-bit integer\"\r\n";
  EXPECT_THAT(open_fault(write("u8", parts.text())),
              HasSubstr("byte 3 of 8, pixel 3 of 6, does not fit uint8"));

  parts.element = "X-Binary-Element-Type: \"unsigned 32-bit integer\"\r\n";
  parts.size = "X-Binary-Size: 16\r\n";
  parts.elements = "X-Binary-Number-of-Elements: 2\r\n";
  parts.dimensions = "X-Binary-Size-Fastest-Dimension: 1\r\nX-Binary-Size-Second-Dimension: 2\r\n";
  parts.binary = std::string("\x80\x00\x80\x00\x00\x00\x80\xff\xff\xff\xff\x00\x00\x00\x00\xfe", 16);
  EXPECT_THAT(pixels_of<std::uint32_t>(open_source(write("u32", parts.text()))->read(0)),
              ElementsAre(4294967295u, 4294967293u));
}

TEST_F(CbfTest, RefusesWhatItCannotRead) {
  const auto refuse = [&](auto change) {
    CbfParts parts;
    change(parts);
    return open_fault(write("bad", parts.text()));
  };
  EXPECT_THAT(refuse([](auto& p) {
                p.type = "Content-Type: application/octet-stream; conversions=\"x-CBF_PACKED\"\r\n";
              }),
              HasSubstr("compression x-CBF_PACKED is not supported"));
  EXPECT_THAT(refuse([](auto& p) { p.type = ""; }), HasSubstr("compression none is not supported"));
  EXPECT_THAT(refuse([](auto& p) { p.encoding = "Content-Transfer-Encoding: BASE64\r\n"; }),
              HasSubstr("BASE64"));
  EXPECT_THAT(refuse([](auto& p) { p.order = "X-Binary-Element-Byte-Order: BIG_ENDIAN\r\n"; }),
              HasSubstr("BIG_ENDIAN"));
  EXPECT_THAT(refuse([](auto& p) { p.element = "X-Binary-Element-Type: \"signed 32-bit real IEEE\"\r\n"; }),
              HasSubstr("\"signed 32-bit real IEEE\" are not supported"));
  EXPECT_THAT(refuse([](auto& p) { p.padding = "X-Binary-Size-Third-Dimension: 2\r\n"; }),
              HasSubstr("Third-Dimension"));
  EXPECT_THAT(refuse([](auto& p) { p.tail += p.text(); }), HasSubstr("more than one image"));
}

TEST_F(CbfTest, RefusesHeadersThatMakeNoSense) {
  const auto refuse = [&](auto change) {
    CbfParts parts;
    change(parts);
    return open_fault(write("bad", parts.text()));
  };
  const auto dimensions = [&](const std::string& cols, const std::string& rows) {
    return refuse([&](auto& p) {
      p.elements = "";
      p.dimensions =
          "X-Binary-Size-Fastest-Dimension: " + cols + "\r\nX-Binary-Size-Second-Dimension: " + rows + "\r\n";
    });
  };
  EXPECT_THAT(dimensions("-3", "2"), HasSubstr("2 rows and -3 columns"));
  EXPECT_THAT(dimensions("0", "2"), HasSubstr("2 rows and 0 columns"));
  EXPECT_THAT(dimensions("1048577", "1"), HasSubstr("the limit is"));
  EXPECT_THAT(dimensions("1048576", "1048576"), HasSubstr("the limit is"));
  EXPECT_THAT(dimensions("9223372036854775807", "9223372036854775807"), HasSubstr("the limit is"));
  EXPECT_THAT(dimensions("99999999999999999999", "2"), HasSubstr("not a number"));
  EXPECT_THAT(dimensions("3x", "2"), HasSubstr("\"3x\", not a number"));
  EXPECT_THAT(dimensions("10000", "10000"), HasSubstr("8 bytes cannot hold 10000 x 10000 pixels"));
  EXPECT_THAT(refuse([](auto& p) { p.dimensions = ""; }), HasSubstr("no X-Binary-Size-"));
  EXPECT_THAT(refuse([](auto& p) { p.elements = "X-Binary-Number-of-Elements: 7\r\n"; }),
              HasSubstr("is 7, but"));
  EXPECT_THAT(refuse([](auto& p) { p.size = ""; }), HasSubstr("no X-Binary-Size"));
  EXPECT_THAT(refuse([](auto& p) { p.size = "X-Binary-Size: -1\r\n"; }), HasSubstr("-1 expected"));
}

TEST_F(CbfTest, NamesTheBytesOfATruncatedFile) {
  CbfParts parts;
  parts.tail = "";
  const std::string text = parts.text();
  EXPECT_THAT(open_fault(write("cut", text.substr(0, text.size() - 3))),
              HasSubstr("5 bytes of the binary are present, 8 expected"));
  EXPECT_THAT(open_fault(write("cut", text.substr(0, text.size() - 9))),
              HasSubstr("the start of the binary is missing"));
  EXPECT_THAT(open_fault(write("cut", text.substr(0, 60))), HasSubstr("without a binary section"));
}

TEST_F(CbfTest, RefusesAFrameThatIsNotThere) {
  const auto source = open_source(write("a", CbfParts{}.text()));
  EXPECT_THAT(input_fault([&] { source->read(1); }), HasSubstr("frame 1 was asked for; the file has 1"));
}

}  // namespace
}  // namespace annulus
