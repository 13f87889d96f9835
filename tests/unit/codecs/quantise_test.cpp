#include <annulus/codecs/decode_frame.hpp>
#include <annulus/codecs/quantise.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
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

Frame only(const std::vector<Frame>& layers) {
  EXPECT_EQ(layers.size(), 1u);
  return layers.front();
}

std::vector<Frame> quantise_doubles(const std::vector<double>& values, const FloatValidity& validity = {},
                                    bool with_variance = false) {
  return quantise(frame_of(PixelType::kF64, values), validity, with_variance);
}

__extension__ using Wide = __int128;

// value * 2^bits, which must be an integer of less than 127 bits.
Wide scaled(double value, int bits) {
  int exponent = 0;
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  const int shift = exponent - 53 + bits;
  EXPECT_LT(shift, 74) << value;
  if (shift >= 0) return Wide{mantissa} * (Wide{1} << shift);
  if (shift <= -63) {
    EXPECT_EQ(mantissa, 0) << value;
    return 0;
  }
  EXPECT_EQ(mantissa % (std::int64_t{1} << -shift), 0) << value << " is no multiple of 2^-" << bits;
  return mantissa / (std::int64_t{1} << -shift);
}

// What layers are defined by: their digits make the value, and what variances take of them one count at
// least.
void expect_layers_hold(const std::vector<Frame>& layers, const std::vector<double>& values,
                        bool with_variance) {
  int bits = INT_MIN;
  for (const Frame& layer : layers) bits = std::max(bits, layer.fraction_bits);
  std::vector<Wide> sum(values.size()), counted(values.size());
  for (const Frame& layer : layers) {
    const auto pixels = pixels_of(layer);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_LT(std::abs(std::int64_t{pixels[i]}), kInvalid) << values[i];
      const Wide unit = Wide{1} << (bits - layer.fraction_bits);
      sum[i] += pixels[i] * unit;
      counted[i] += std::max<std::int64_t>(pixels[i], one_count(layer)) * unit;
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(sum[i] == scaled(values[i], bits)) << "pixel " << i << ": " << values[i];
    if (!with_variance) continue;
    ASSERT_TRUE(counted[i] == scaled(std::max(values[i], 1.0), bits)) << "pixel " << i << ": " << values[i];
  }
}

TEST(Quantise, PassesTypesThatBackendsTake) {
  const auto frame = frame_of<std::uint16_t>(PixelType::kU16, {1, 65535});
  const auto result = only(quantise(frame, {.dummy = 65535.0, .delta = 0, .max_count = 1}));
  EXPECT_EQ(result.type, PixelType::kU16);
  EXPECT_EQ(result.payload.data(), frame.payload.data());
  Frame compressed = frame;
  compressed.codec = Codec::kByteOffset;
  compressed.type = PixelType::kI64;
  EXPECT_EQ(only(quantise(compressed, {})).codec, Codec::kByteOffset);
}

TEST(Quantise, KeepsIntegersHeldByFloatsExactly) {
  for (const bool with_variance : {false, true}) {
    const auto result = only(
        quantise(frame_of<float>(PixelType::kF32, {0, -3, 16777216, 2147483520, -0.0f}), {}, with_variance));
    EXPECT_EQ(result.fraction_bits, 0);
    EXPECT_THAT(pixels_of(result), ElementsAre(0, -3, 16777216, 2147483520, 0));
  }
}

TEST(Quantise, HoldsFractionsWithAsManyBitsAsTheyHave) {
  const auto result = only(quantise_doubles({0.5, -1.25, 3}));
  EXPECT_EQ(result.fraction_bits, 2);
  EXPECT_THAT(pixels_of(result), ElementsAre(2, -5, 12));
  EXPECT_THAT(decode_frame(result).pixels, ElementsAre(0.5, -1.25, 3));
}

TEST(Quantise, ALargePixelTakesNothingFromTheOthers) {
  const std::vector<float> pixels{0.1f, 1e9f, -0.3f, 0};
  const std::vector<double> values(pixels.begin(), pixels.end());
  for (const bool with_variance : {false, true}) {
    const auto layers = quantise(frame_of(PixelType::kF32, pixels), {}, with_variance);
    EXPECT_EQ(layers.size(), 2u);
    expect_layers_hold(layers, values, with_variance);
  }
}

TEST(Quantise, LayersOfZerosAreLeftOut) {
  const std::vector<float> pixels{1, 0x1p100f};
  EXPECT_EQ(quantise(frame_of(PixelType::kF32, pixels), {}).size(), 2u);
  EXPECT_EQ(quantise(frame_of(PixelType::kF32, std::vector<float>{0, 0x1p100f}), {}).size(), 1u);
}

TEST(Quantise, LayersOfRandomFramesAreExact) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 3000; ++round) {
    // Up to 53 bits anywhere in a window of 60: no value needs more than scaled() has.
    const int low = static_cast<int>(random() % 40) - 60;
    const int width = 1 + static_cast<int>(random() % 60);
    const bool as_float = random() % 2 == 0;
    std::vector<double> values(1 + random() % 20);
    for (double& value : values) {
      const auto bits = static_cast<int>(random() % (as_float ? 25 : 54));
      const double mantissa = std::ldexp(static_cast<double>(random() >> 11), bits - 53);
      value =
          std::ldexp(std::trunc(mantissa), low + static_cast<int>(random() % static_cast<unsigned>(width)));
      if (random() % 3 == 0) value = -value;
      if (random() % 5 == 0)
        value = std::ldexp(1.0, static_cast<int>(random() % 60)) * (random() % 2 == 0 ? 1 : 3);
    }
    const bool with_variance = random() % 2 == 0;
    bool far_below_one = with_variance;
    for (const double value : values) far_below_one = far_below_one && std::abs(value) < 0x1p-10;
    if (far_below_one) continue;
    const std::vector<float> floats(values.begin(), values.end());
    const auto layers = as_float ? quantise(frame_of(PixelType::kF32, floats), {}, with_variance)
                                 : quantise_doubles(values, {}, with_variance);
    expect_layers_hold(layers, values, with_variance);
    if (HasFatalFailure()) {
      FAIL() << "round " << round << (with_variance ? " with" : " without") << " variance";
    }
  }
}

TEST(Quantise, MarksInvalidPixelsInTheFirstLayerOnly) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const FloatValidity validity{.dummy = -2.0, .delta = 1.5, .max_count = 100.0};
  const auto result =
      only(quantise_doubles({nan, inf, -inf, -0.5, -3.5, -3.625, 100, 100.5, -101, 7}, validity));
  EXPECT_EQ(result.fraction_bits, 3);  // -3.625 is the only fraction that counts
  EXPECT_THAT(pixels_of(result), ElementsAre(kInvalid, kInvalid, kInvalid, kInvalid, kInvalid, -29, 800,
                                             kInvalid, kInvalid, 56));
  for (const bool with_variance : {false, true}) {
    const auto layers = quantise_doubles({nan, 0x1p-40, 1e5}, {}, with_variance);
    ASSERT_GT(layers.size(), 1u);
    for (std::size_t k = 0; k < layers.size(); ++k) {
      EXPECT_EQ(pixels_of(layers[k])[0], k == 0 ? kInvalid : 0);
    }
    if (with_variance) {
      EXPECT_NE(one_count(layers[0]), 0u);
      for (std::size_t k = 1; k < layers.size(); ++k) EXPECT_EQ(one_count(layers[k]), 0u);
    }
  }
}

TEST(Quantise, PixelsThatAreNotUsedHaveNoSay) {
  const std::vector<std::uint8_t> used{1, 0, 1};
  FloatValidity validity;
  validity.used = used;
  const auto result = only(quantise_doubles({1, 1e-30, 2}, validity));
  EXPECT_EQ(result.fraction_bits, 0);
  EXPECT_THAT(pixels_of(result), ElementsAre(1, kInvalid, 2));
}

TEST(Quantise, TakesAFrameWithoutValidPixels) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool with_variance : {false, true}) {
    const auto result = only(quantise_doubles({nan, nan}, {}, with_variance));
    EXPECT_EQ(result.fraction_bits, 0);
    EXPECT_THAT(pixels_of(result), ElementsAre(kInvalid, kInvalid));
  }
}

TEST(Quantise, TakesTheSmallestNumbers) {
  const auto doubles = only(quantise_doubles({5e-324, -1.5e-323, 0}));
  EXPECT_EQ(doubles.fraction_bits, 1074);
  EXPECT_THAT(pixels_of(doubles), ElementsAre(1, -3, 0));
  const auto floats = only(quantise(frame_of<float>(PixelType::kF32, {0x1p-149f, -0x1p-130f}), {}));
  EXPECT_EQ(floats.fraction_bits, 149);
  EXPECT_THAT(pixels_of(floats), ElementsAre(1, -(1 << 19)));
}

TEST(Quantise, TakesEveryFloat32) {
  const float smallest = std::numeric_limits<float>::denorm_min();
  const float largest = std::numeric_limits<float>::max();
  for (const bool with_variance : {false, true}) {
    const auto layers =
        quantise(frame_of<float>(PixelType::kF32, {smallest, largest, -largest, 0}), {}, with_variance);
    EXPECT_LE(layers.size(), static_cast<std::size_t>(kMostLayers));
    // Digits of the largest are a part of its bits, so that their sum in double is exact.
    double sum = 0;
    for (const Frame& layer : layers) sum += std::ldexp(pixels_of(layer)[2], -layer.fraction_bits);
    EXPECT_EQ(sum, -static_cast<double>(largest));
  }
}

TEST(Quantise, NamesThePixelsThatAreTooFarApart) {
  auto frame = frame_of<double>(PixelType::kF64, {1, 2, 3, 1e90, -1e-80, 6});
  frame.shape = {2, 3};
  try {
    quantise(frame, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("scan.npy: pixel at row 1, column 0 is 1e+90 and pixel at row 1, "
                                        "column 1 is -1e-80"));
    EXPECT_THAT(error.what(), HasSubstr("`max_count`"));
  }
  EXPECT_NO_THROW(quantise(frame, {.dummy = 0, .delta = 1e-70, .max_count = {}}));
  EXPECT_NO_THROW(quantise(frame, {.dummy = {}, .delta = 0, .max_count = 1e9}));
}

TEST(Quantise, TakesSixtyFourBitIntegers) {
  const auto narrow =
      only(quantise(frame_of<std::int64_t>(PixelType::kI64, {-2, 0, 2147483646, -2147483646, INT64_MIN}),
                    {.dummy = -2.0, .delta = 0.5, .max_count = 4e9}));
  EXPECT_EQ(narrow.fraction_bits, 0);
  EXPECT_THAT(pixels_of(narrow), ElementsAre(kInvalid, 0, 2147483646, -2147483646, kInvalid));
  EXPECT_THAT(pixels_of(only(quantise(frame_of<std::uint64_t>(PixelType::kU64, {UINT64_MAX, 5}),
                                      {.dummy = {}, .delta = 0, .max_count = 0x1p63}))),
              ElementsAre(kInvalid, 5));
  const std::vector<std::int64_t> pixels{INT64_MAX, INT64_MIN, 1,         0,
                                         -1,        1LL << 29, 1LL << 58, (1LL << 58) + 7};
  const std::vector<std::uint64_t> positive{UINT64_MAX, 1ULL << 63, 1, 0, 1ULL << 31};
  for (const bool with_variance : {false, true}) {
    const auto sum_of = [&](const std::vector<Frame>& layers, std::size_t pixel, bool counted) {
      Wide sum = 0;
      for (const Frame& layer : layers) {
        EXPECT_LE(layer.fraction_bits, 0);
        std::int64_t digit = pixels_of(layer)[pixel];
        if (counted) digit = std::max<std::int64_t>(digit, one_count(layer));
        sum += digit * (Wide{1} << -layer.fraction_bits);
      }
      return sum;
    };
    const auto layers = quantise(frame_of(PixelType::kI64, pixels), {}, with_variance);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      EXPECT_TRUE(sum_of(layers, i, false) == pixels[i]) << pixels[i];
      const bool counted = !with_variance || sum_of(layers, i, true) == std::max<std::int64_t>(pixels[i], 1);
      EXPECT_TRUE(counted) << pixels[i];
    }
    const auto others = quantise(frame_of(PixelType::kU64, positive), {}, with_variance);
    for (std::size_t i = 0; i < positive.size(); ++i) {
      EXPECT_TRUE(sum_of(others, i, false) == Wide{positive[i]}) << positive[i];
      const bool counted =
          !with_variance || sum_of(others, i, true) == Wide{std::max<std::uint64_t>(positive[i], 1)};
      EXPECT_TRUE(counted) << positive[i];
    }
  }
}

TEST(Quantise, FramesFarBelowOneCountHaveNoCountingStatistics) {
  EXPECT_THROW(quantise_doubles({1e-4, 0}, {}, true), Error);
  EXPECT_NO_THROW(quantise_doubles({1e-4, 0}));
  EXPECT_NO_THROW(quantise_doubles({0, 0}, {}, true));
}

TEST(Quantise, RefusesAPayloadOfAnotherSize) {
  auto frame = frame_of<double>(PixelType::kF64, {1, 2});
  frame.shape = {2, 2};
  EXPECT_THROW(quantise(frame, {}), Error);
}

TEST(Quantise, WideIntegersAreJudgedExactly) {
  constexpr std::int64_t kBig = std::int64_t{1}
                                << 53;  // from here on a double cannot tell all integers apart
  const auto frame = frame_of<std::int64_t>(PixelType::kI64, {kBig - 1, kBig, kBig + 1, kBig + 2, 7});
  const auto marked = [&](const FloatValidity& validity) {
    std::vector<bool> invalid;
    for (const std::int32_t pixel : pixels_of(quantise(frame, validity).front()))
      invalid.push_back(pixel == kInvalid);
    return invalid;
  };
  EXPECT_THAT(marked({.dummy = kBig, .delta = 0, .max_count = {}}),
              ElementsAre(false, true, false, false, false));
  EXPECT_THAT(marked({.dummy = kBig, .delta = 1, .max_count = {}}),
              ElementsAre(true, true, true, false, false));
  EXPECT_THAT(marked({.dummy = {}, .delta = 0, .max_count = kBig}),
              ElementsAre(false, false, true, true, false));
  EXPECT_THAT(marked({.dummy = {}, .delta = 0, .max_count = kBig + 1}),
              ElementsAre(false, false, false, true, false));
}

TEST(Quantise, ANumberBeyondAnyCountIsNamedAlone) {
  const auto message = [](const std::vector<double>& values) {
    try {
      quantise_doubles(values);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  for (const double huge : {1.7e308, -1.7e308, 1e200}) {
    EXPECT_THAT(message({1, huge, 2}),
                ::testing::AllOf(HasSubstr("row 0, column 1"), HasSubstr(fmt::format("is {}", huge)),
                                 HasSubstr("beyond any count"), HasSubstr("`max_count`"),
                                 ::testing::Not(HasSubstr("both"))));
  }
  EXPECT_THAT(message({0x1p340, 0x1p-20}), HasSubstr("to hold both exactly takes 361 bits"));
}

TEST(RoundPixels, HoldsWhatFitsExactlyAndRoundsTheRest) {
  const auto rounded = [](const std::vector<double>& values, const Rounding& rounding = {}) {
    return only(round_pixels(frame_of(PixelType::kF64, values), {}, rounding));
  };
  EXPECT_EQ(rounded({1, 2, 1 << 29}).fraction_bits, 0);
  EXPECT_EQ(rounded({0.5, -3.25}).fraction_bits, 2);
  EXPECT_THAT(pixels_of(rounded({0.5, -3.25, NAN})), ElementsAre(2, -13, kInvalid));
  const Frame tenths = rounded({0.1, 1000});  // below 2^10, so 20 bits are left
  EXPECT_EQ(tenths.fraction_bits, 20);
  EXPECT_THAT(pixels_of(tenths), ElementsAre(104858, 1000 << 20));
  EXPECT_EQ(rounded({0.1, 1000}, {.largest_dark = 5000}).fraction_bits, 17) << "so that the dark fits, too";
  EXPECT_EQ(rounded({0.1, 0.01}, {.with_variance = true}).fraction_bits, 29);
}

TEST(RoundPixels, NamesThePixelBesideWhichOthersWouldBeLost) {
  const auto fault = [](const std::vector<double>& values) -> std::string {
    try {
      round_pixels(frame_of(PixelType::kF64, values), {}, {});
    } catch (const Error& error) {
      return error.fault();
    }
    return "none";
  };
  EXPECT_EQ(fault({0.1, 6e7}), "none");
  EXPECT_THAT(fault({0.1, 7e7}), HasSubstr("row 0, column 1 is 70000000"));
  EXPECT_EQ(fault({1, 1073741823}), "none") << "whole counts are exact";
  EXPECT_THAT(fault({1, 3e9}), HasSubstr("column 1"));
}

}  // namespace
}  // namespace annulus
