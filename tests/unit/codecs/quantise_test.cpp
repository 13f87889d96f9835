#include <annulus/codecs/decode_frame.hpp>
#include <annulus/codecs/quantise.hpp>
#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int32_t kInvalid = INT32_MAX;

template <typename T>
Frame frame_of(PixelType type, const std::vector<T>& pixels) {
  Frame frame;
  frame.type = type;
  frame.shape = {1, static_cast<std::uint32_t>(pixels.size())};
  frame.id.source = "scan.npy";
  std::vector<std::byte> bytes(pixels.size() * sizeof(T));
  std::memcpy(bytes.data(), pixels.data(), bytes.size());
  frame.payload = Bytes(std::move(bytes));
  return frame;
}

std::vector<std::int32_t> pixels_of(const Frame& frame) {
  EXPECT_EQ(frame.type, PixelType::kI32);
  EXPECT_EQ(frame.codec, Codec::kRaw);
  std::vector<std::int32_t> pixels(frame.payload.size() / 4);
  std::memcpy(pixels.data(), frame.payload.data(), frame.payload.size());
  return pixels;
}

Frame quantise_doubles(const std::vector<double>& values, const FloatValidity& validity = {}) {
  return quantise(frame_of(PixelType::kF64, values), validity);
}

TEST(Quantise, PassesTypesThatBackendsTake) {
  const auto frame = frame_of<std::uint16_t>(PixelType::kU16, {1, 65535});
  const auto result = quantise(frame, {.dummy = 65535.0, .delta = 0, .max_count = 1});
  EXPECT_EQ(result.type, PixelType::kU16);
  EXPECT_EQ(result.payload.data(), frame.payload.data());
  Frame compressed = frame;
  compressed.codec = Codec::kByteOffset;
  compressed.type = PixelType::kI64;
  EXPECT_EQ(quantise(compressed, {}).codec, Codec::kByteOffset);
}

TEST(Quantise, KeepsIntegersHeldByFloatsExactly) {
  const auto result = quantise(frame_of<float>(PixelType::kF32, {0, -3, 16777216, 1073741760, -0.0f}), {});
  EXPECT_EQ(result.fraction_bits, 0);
  EXPECT_THAT(pixels_of(result), ElementsAre(0, -3, 16777216, 1073741760, 0));
}

TEST(Quantise, ScalesFractionsByOnePowerOfTwo) {
  const auto result = quantise_doubles({0.5, -1.25, 3});
  EXPECT_EQ(result.fraction_bits, 28);  // 3 * 2^28 < 2^30 <= 3 * 2^29
  EXPECT_THAT(pixels_of(result), ElementsAre(1 << 27, -(5 << 26), 3 << 28));
  EXPECT_THAT(decode_frame(result).pixels, ElementsAre(0.5, -1.25, 3));
}

TEST(Quantise, ChoosesTheLargestPowerAtEveryBoundary) {
  for (int exponent = -300; exponent <= 300; ++exponent) {
    for (const double factor : {1.0, 1 - 0x1p-40, 1.75}) {
      const double largest = std::ldexp(factor, exponent);
      const auto result = quantise_doubles({largest, largest / 3});
      const int bits = result.fraction_bits;
      ASSERT_LT(std::ldexp(largest, bits), 0x1p30) << largest;
      ASSERT_GE(std::ldexp(largest, bits + 1), 0x1p30) << largest;
      const auto back = decode_frame(result);
      ASSERT_NEAR(back.pixels[0], largest, largest * 0x1p-30);
      ASSERT_NEAR(back.pixels[1], largest / 3, largest * 0x1p-30);
    }
  }
}

TEST(Quantise, ScalesDownIntegersThatAreTooLarge) {
  const auto result = quantise_doubles({4294967295.0, 16.0});
  EXPECT_EQ(result.fraction_bits, -2);
  EXPECT_THAT(pixels_of(result), ElementsAre(1 << 30, 4));  // 2^30 - 1/4 rounds to 2^30: still an int32
}

TEST(Quantise, RoundsTiesToEven) {
  const double unit = 0x1p-28;  // with a largest value of 3
  const auto result = quantise_doubles({3, 0.5 * unit, 1.5 * unit, 2.5 * unit, -0.5 * unit, -1.5 * unit});
  ASSERT_EQ(result.fraction_bits, 28);
  EXPECT_THAT(pixels_of(result), ElementsAre(3 << 28, 0, 2, 2, 0, -2));
}

TEST(Quantise, MarksInvalidPixelsAndLeavesThemOutOfTheScale) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const FloatValidity validity{.dummy = -2.0, .delta = 1.5, .max_count = 100.0};
  const auto result = quantise_doubles({nan, inf, -inf, -0.5, -3.5, -3.6, 100, 100.5, -101, 7}, validity);
  EXPECT_EQ(result.fraction_bits, 23);  // -3.6 is the only fraction; 100 * 2^23 < 2^30
  const auto pixels = pixels_of(result);
  EXPECT_THAT(pixels, ElementsAre(kInvalid, kInvalid, kInvalid, kInvalid, kInvalid, -30198989, 100 << 23,
                                  kInvalid, kInvalid, 7 << 23));
}

TEST(Quantise, TakesAFrameWithoutValidPixels) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto result = quantise_doubles({nan, nan});
  EXPECT_EQ(result.fraction_bits, 0);
  EXPECT_THAT(pixels_of(result), ElementsAre(kInvalid, kInvalid));
}

TEST(Quantise, TakesTheSmallestDoubles) {
  const auto result = quantise_doubles({5e-324, -5e-324, 0});
  EXPECT_THAT(pixels_of(result), ElementsAre(0, 0, 0));
}

TEST(Quantise, NarrowsSixtyFourBitIntegers) {
  const auto result =
      quantise(frame_of<std::int64_t>(PixelType::kI64, {-2, 0, 2147483646, -2147483646, INT64_MIN}),
               {.dummy = -2.0, .delta = 0.5, .max_count = 4e9});
  EXPECT_EQ(result.fraction_bits, 0);
  EXPECT_THAT(pixels_of(result), ElementsAre(kInvalid, 0, 2147483646, -2147483646, kInvalid));
  EXPECT_THAT(pixels_of(quantise(frame_of<std::uint64_t>(PixelType::kU64, {UINT64_MAX, 5}),
                                 {.dummy = 18446744073709551615.0, .delta = 0, .max_count = {}})),
              ElementsAre(kInvalid, 5));
}

TEST(Quantise, NamesTheIntegerThatDoesNotFit) {
  for (const std::int64_t bad : {INT64_C(2147483647), INT64_C(-2147483647), INT64_MIN, INT64_MAX}) {
    auto frame = frame_of<std::int64_t>(PixelType::kI64, {1, 2, 3, 4, bad, 6});
    frame.shape = {2, 3};
    try {
      quantise(frame, {});
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr("scan.npy: pixel at row 1, column 1 is " + std::to_string(bad)));
      EXPECT_THAT(error.what(), HasSubstr("`max_count`"));
    }
  }
}

TEST(Quantise, RefusesAPayloadOfAnotherSize) {
  auto frame = frame_of<double>(PixelType::kF64, {1, 2});
  frame.shape = {2, 2};
  EXPECT_THROW(quantise(frame, {}), Error);
}

}  // namespace
}  // namespace annulus
