#include <annulus/codecs/encode_blocks.hpp>
#include <annulus/sources/source_json.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "test_files.hpp"

namespace annulus {
namespace {

using DescribeTest = FormatsTest;

nlohmann::json describe_raw(const std::string& path, PixelType type, Shape shape) {
  OpenOptions options;
  options.raw_shape = shape;
  options.raw_type = type;
  return describe_source(*open_source(path, options), path);
}

// Hashes from Python: hashlib.sha256(numpy.array(..., "<i8").tobytes()).
TEST_F(DescribeTest, GivesExactIntegers) {
  const std::vector<std::int16_t> pixels = {-2, 7, 300, 0};
  const auto json = describe_raw(write("a", bytes_of(pixels)), PixelType::kI16, {2, 2});
  EXPECT_EQ(
      json.dump(),
      R"({"format":"raw","frames":1,"max":300,"max_count":null,"min":-2,"pixels_sha256":")"
      R"(a5534b656bf7e14ebf4b3f006d7750d942da460ef8da24c5a76f74c534db80c9","shape":[2,2],"sum":305,"type":"int16","wavelength":null})");
}

TEST_F(DescribeTest, SumsSixtyFourBitPixelsExactlyWhileJsonCan) {
  const std::vector<std::uint64_t> pixels = {UINT64_MAX - 5, 5};
  const auto json = describe_raw(write("a", bytes_of(pixels)), PixelType::kU64, {1, 2});
  EXPECT_EQ(json["max"].dump(), "18446744073709551610");
  EXPECT_EQ(json["sum"].dump(), "18446744073709551615");
  const std::vector<std::int64_t> lowest = {INT64_MIN, 0};
  EXPECT_EQ(describe_raw(write("a", bytes_of(lowest)), PixelType::kI64, {1, 2})["sum"].dump(),
            "-9223372036854775808");
  const std::vector<std::uint64_t> both = {UINT64_MAX, UINT64_MAX};
  EXPECT_DOUBLE_EQ(describe_raw(write("a", bytes_of(both)), PixelType::kU64, {1, 2})["sum"].get<double>(),
                   0x1p65);
}

TEST_F(DescribeTest, LeavesNonFiniteFloatsOut) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> pixels = {1.5, -2, nan, std::numeric_limits<float>::infinity()};
  auto json = describe_raw(write("a", bytes_of(pixels)), PixelType::kF32, {1, 4});
  EXPECT_EQ(json["min"], -2.0);
  EXPECT_EQ(json["max"], 1.5);
  EXPECT_EQ(json["sum"], -0.5);
  const std::vector<float> finite = {1.5, -2};
  json = describe_raw(write("a", bytes_of(finite)), PixelType::kF32, {1, 2});
  EXPECT_EQ(json["pixels_sha256"], "bd179027e5d89aea8ed4f7d630cbcad3cc35d3fb375cc9ef7aae3675a7b167cc");
  const std::vector<float> none = {nan};
  EXPECT_TRUE(describe_raw(write("a", bytes_of(none)), PixelType::kF32, {1, 1})["sum"].is_null());
}

TEST_F(DescribeTest, HashesImagesLargerThanOneBlock) {
  std::vector<std::uint8_t> pixels(70001 * 2);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 7);
  EXPECT_EQ(describe_raw(write("a", bytes_of(pixels)), PixelType::kU8, {2, 70001})["pixels_sha256"],
            "6ab67cfcf9ba1426682bef907697f3694334ea3d83857f199fe4a657f658fdea");
}

class SourceOfBlocks final : public FrameSource {
 public:
  SourceOfBlocks() {
    info_.format = "HDF5";
    info_.codec = Codec::kBitshuffleLz4;
    info_.type = PixelType::kU16;
    info_.shape = {3, 7};
  }
  const SourceInfo& info() const override { return info_; }
  Frame read(std::uint64_t) const override {
    const std::vector<std::uint16_t> pixels = {0,  1,  2,  65535, 4,  5,  6,  7,  8,  9,  10,
                                               11, 12, 13, 14,    15, 16, 17, 18, 19, 300};
    Frame frame;
    frame.codec = info_.codec;
    frame.type = info_.type;
    frame.shape = info_.shape;
    frame.payload = Bytes(encode_bitshuffle_lz4(std::as_bytes(std::span(pixels)), 2));
    return frame;
  }

 private:
  SourceInfo info_;
};

TEST_F(DescribeTest, DecodesCompressedBlocks) {
  const auto json = describe_source(SourceOfBlocks(), "a");
  EXPECT_EQ(json["max"], 65535);
  EXPECT_EQ(json["sum"], 66022);
  EXPECT_EQ(json["pixels_sha256"], "eba31d67749cea02a69a919922a2272eaf37bace718d3456a2b0265abd4e6e0d");
}

}  // namespace
}  // namespace annulus
