#include <gmock/gmock.h>

#include "test_files.hpp"

namespace annulus {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using EdfTest = FormatsTest;

std::string header(const std::string& pairs, const std::string& end = "}\n") { return "{\n" + pairs + end; }

std::string layout(const std::string& type, int cols, int rows, const std::string& order = "LowByteFirst") {
  return "ByteOrder = " + order + " ;\nDataType = " + type + " ;\nDim_1 = " + std::to_string(cols) +
         " ;\nDim_2 = " + std::to_string(rows) + " ;\n";
}

TEST_F(EdfTest, ReadsEveryNameOfEveryType) {
  const std::pair<const char*, PixelType> types[] = {{"SignedByte", PixelType::kI8},
                                                     {"Signed8", PixelType::kI8},
                                                     {"UnsignedByte", PixelType::kU8},
                                                     {"Unsigned8", PixelType::kU8},
                                                     {"SignedShort", PixelType::kI16},
                                                     {"Signed16", PixelType::kI16},
                                                     {"UnsignedShort", PixelType::kU16},
                                                     {"Unsigned16", PixelType::kU16},
                                                     {"UnsignedShortInteger", PixelType::kU16},
                                                     {"SignedInteger", PixelType::kI32},
                                                     {"Signed32", PixelType::kI32},
                                                     {"UnsignedInteger", PixelType::kU32},
                                                     {"Unsigned32", PixelType::kU32},
                                                     {"SignedLong", PixelType::kI32},
                                                     {"UnsignedLong", PixelType::kU32},
                                                     {"Signed64", PixelType::kI64},
                                                     {"Unsigned64", PixelType::kU64},
                                                     {"FloatValue", PixelType::kF32},
                                                     {"FLOATVALUE", PixelType::kF32},
                                                     {"FLOAT", PixelType::kF32},
                                                     {"Float", PixelType::kF32},
                                                     {"FloatIEEE32", PixelType::kF32},
                                                     {"Float32", PixelType::kF32},
                                                     {"Double", PixelType::kF64},
                                                     {"DoubleValue", PixelType::kF64},
                                                     {"FloatIEEE64", PixelType::kF64},
                                                     {"DoubleIEEE64", PixelType::kF64}};
  for (const auto& [name, type] : types) {
    const std::string data = "abcdefghabcdefghabcdefgh";
    const auto text = header(layout(name, 3, 1)) + data.substr(0, 3 * size_of(type));
    const auto source = open_source(write("a.edf", text));
    EXPECT_EQ(source->info().type, type) << name;
    EXPECT_EQ(source->read(0).payload.size(), 3 * size_of(type)) << name;
  }
}

TEST_F(EdfTest, ReadsRowsColumnsAndHeader) {
  const std::vector<std::int32_t> pixels = {1, -2, 3, 4, 5, 600000};
  const auto source =
      open_source(write("a", "\r\n" +
                                 header("EDF_DataBlockID = 0.Image.Psd ;\n" + layout("SignedInteger", 3, 2) +
                                            "title = a b = c ;\nWaveLength = 1.0e-10 ;\nSize = 24 ;\n   ",
                                        "}\r\n") +
                                 bytes_of(pixels)));
  EXPECT_EQ(source->info().format, "EDF");
  EXPECT_EQ(source->info().shape, (Shape{2, 3}));
  EXPECT_EQ(source->info().wavelength, 1e-10);
  EXPECT_THAT(source->info().header, Contains(Pair("title", "a b = c")));
  EXPECT_THAT(pixels_of<std::int32_t>(source->read(0)), ::testing::ElementsAreArray(pixels));
}

TEST_F(EdfTest, TurnsBigEndianRound) {
  const auto source = open_source(write(
      "a", header(layout("UnsignedShort", 2, 1, "HighByteFirst")) + std::string("\x01\x02\x00\x03", 4)));
  EXPECT_THAT(pixels_of<std::uint16_t>(source->read(0)), ElementsAre(0x0102, 3));
}

TEST_F(EdfTest, ReadsSeveralFramesAndAGeneralHeader) {
  std::string text =
      header("EDF_DataFormatVersion = 2.40 ;\nEDF_BinarySize = 4 ;\nByteOrder = LowByteFirst ;\n") + "skip";
  for (const char first : {'a', 'c', 'e'}) {
    text += header("EDF_BinarySize = 5 ;\nDataType = UnsignedByte ;\nDim_1 = 2 ;\nDim_2 = 1 ;\n");
    text += {first, static_cast<char>(first + 1), 0, 0, 0};
  }
  const auto source = open_source(write("a", text + "\n\n"));
  EXPECT_EQ(source->info().frames, 3u);
  EXPECT_THAT(pixels_of<char>(source->read(2)), ElementsAre('e', 'f'));
  EXPECT_EQ(source->read(2).id.in_source, 2u);
  EXPECT_THAT(pixels_of<char>(source->read(0)), ElementsAre('a', 'b'));
}

TEST_F(EdfTest, TakesAThirdDimensionAsFrames) {
  const auto source =
      open_source(write("a", header(layout("UnsignedByte", 2, 1) + "Dim_3 = 3 ;\n") + "abcdef"));
  EXPECT_EQ(source->info().frames, 3u);
  EXPECT_THAT(pixels_of<char>(source->read(1)), ElementsAre('c', 'd'));
}

TEST_F(EdfTest, FindsAHeaderEndAtAnyPlaceOfABlock) {
  for (int fill = 3900; fill < 4110; ++fill) {
    const auto text =
        header(layout("UnsignedByte", 2, 1) + std::string(static_cast<std::size_t>(fill), ' '), "}\r\n") +
        "xy";
    ASSERT_THAT(pixels_of<char>(open_source(write("a", text))->read(0)), ElementsAre('x', 'y')) << fill;
  }
}

TEST_F(EdfTest, KeepsTheFramesBeforeATruncatedOne) {
  const auto block = header(layout("UnsignedByte", 2, 2) + "Size = 4 ;\n");
  const auto source = open_source(write("a", block + "abcd" + block + "ab"));
  EXPECT_EQ(source->info().frames, 2u);
  EXPECT_THAT(pixels_of<char>(source->read(0)), ElementsAre('a', 'b', 'c', 'd'));
  EXPECT_THAT(input_fault([&] { source->read(1); }), HasSubstr("4 bytes at byte"));
}

TEST_F(EdfTest, RefusesWhatMakesNoImage) {
  const auto refuse = [&](const std::string& text) { return open_fault(write("bad", text)); };
  const std::string good = layout("UnsignedByte", 2, 1);
  EXPECT_THAT(refuse(header(good + "Compression = GzipCompression ;\n") + "ab"),
              HasSubstr("GzipCompression is not supported"));
  EXPECT_THAT(refuse(header(good + "EDF_BinaryFileName = x.raw ;\n") + "ab"),
              HasSubstr("EDF_BinaryFileName"));
  EXPECT_THAT(refuse(header(layout("QuadrupleValue", 2, 1)) + "ab"),
              HasSubstr("QuadrupleValue are not supported"));
  EXPECT_THAT(refuse(header(layout("FloatValue", 2, 1, "MiddleByteFirst")) + "abcdefgh"),
              HasSubstr("ByteOrder"));
  EXPECT_THAT(refuse(header("DataType = UnsignedByte ;\n") + "ab"), HasSubstr("there is no Dim_1"));
  EXPECT_THAT(refuse(header("Dim_1 = 2 ;\n") + "ab"), HasSubstr("there is no DataType"));
  EXPECT_THAT(refuse(header(layout("UnsignedByte", -2, 1)) + "ab"), HasSubstr("1 rows and -2 columns"));
  EXPECT_THAT(refuse(header(layout("DoubleValue", 1000000, 1000000)) + "ab"), HasSubstr("the limit is"));
  EXPECT_THAT(refuse(header(layout("DoubleValue", 40000, 40000)) + "ab"),
              HasSubstr("12800000000 bytes at byte"));
  EXPECT_THAT(refuse(header(good + "Dim_3 = 9000000000000000000 ;\n") + "ab"), HasSubstr("truncated"));
  EXPECT_THAT(refuse(header(good + "Dim_3 = 0 ;\n") + "ab"), HasSubstr("Dim_3 is 0"));
  EXPECT_THAT(refuse(header(good + "Size = 1 ;\n") + "ab"), HasSubstr("1 bytes of binary cannot hold"));
  EXPECT_THAT(refuse(header(good + "Size = -1 ;\n") + "ab"), HasSubstr("Size is -1"));
  EXPECT_THAT(refuse("{\n" + good + "ab"), HasSubstr("the header has no end"));
  EXPECT_THAT(refuse(header(good) + "abGARBAGE"), HasSubstr("are no EDF header"));
  EXPECT_THAT(refuse(header(good) + "ab" + header(layout("UnsignedByte", 1, 2)) + "ab"),
              HasSubstr("but frame 0 is 1 x 2 uint8"));
  EXPECT_THAT(refuse(header("EDF_DataFormatVersion = 2.40 ;\n")), HasSubstr("holds no image"));
}

TEST_F(EdfTest, IsNotTakenForARawFileOfTheSameFirstByte) {
  const std::vector<std::int32_t> pixels = {'{', '=', 3, 4};
  OpenOptions options;
  options.raw_shape = Shape{2, 2};
  EXPECT_EQ(open_source(write("a", bytes_of(pixels)), options)->info().format, "raw");
}

}  // namespace
}  // namespace annulus
