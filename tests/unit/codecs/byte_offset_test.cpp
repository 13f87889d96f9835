#include <annulus/codecs/byte_offset.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace annulus {
namespace {

using ::testing::ElementsAreArray;

constexpr std::int32_t kMin = INT32_MIN;
constexpr std::int32_t kMax = INT32_MAX;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> result;
  for (int value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

std::vector<int> numbers(const std::vector<std::byte>& data) {
  std::vector<int> result;
  for (std::byte byte : data) result.push_back(std::to_integer<int>(byte));
  return result;
}

// Bit by bit from the definition, in unsigned arithmetic: shares nothing with the code under test.
struct Oracle {
  std::vector<std::int64_t> pixels;
  bool complete = true;
};

Oracle oracle_decode(const std::vector<std::byte>& data) {
  Oracle result;
  std::size_t at = 0;
  std::uint64_t value = 0;
  while (at < data.size()) {
    for (int width = 1;; width *= 2) {
      if (at + width > data.size()) {
        result.complete = false;
        return result;
      }
      std::uint64_t code = 0;
      for (int i = width - 1; i >= 0; --i) code = code * 256 + std::to_integer<unsigned>(data[at + i]);
      at += width;
      const std::uint64_t sign = std::uint64_t{1} << (8 * width - 1);
      if (width < 8 && code == sign) continue;
      value += (code ^ sign) - sign;  // sign extension
      result.pixels.push_back(static_cast<std::int64_t>(value));
      break;
    }
  }
  return result;
}

struct Decoded {
  DecodeStatus status;
  std::vector<std::int32_t> pixels;
  std::size_t byte;
  std::size_t pixel;
};

Decoded decode_with(InstructionSet set, const std::vector<std::byte>& data, std::size_t pixels) {
  ByteOffsetDecoder decoder(data, set);
  Decoded result{DecodeStatus::kOk, std::vector<std::int32_t>(pixels, 12345), 0, 0};
  result.status = decoder.decode(result.pixels);
  if (result.status == DecodeStatus::kOk) result.status = decoder.finish();
  result.byte = decoder.byte_position();
  result.pixel = decoder.pixel_position();
  return result;
}

// By the generic code; every other instruction set of the machine must do the same.
Decoded decode(const std::vector<std::byte>& data, std::size_t pixels) {
  const Decoded expected = decode_with(InstructionSet::kGeneric, data, pixels);
  for (const InstructionSet set : available_instruction_sets()) {
    const Decoded result = decode_with(set, data, pixels);
    EXPECT_EQ(result.status, expected.status) << name_of(set);
    EXPECT_EQ(result.byte, expected.byte) << name_of(set);
    EXPECT_EQ(result.pixel, expected.pixel) << name_of(set);
    EXPECT_TRUE(std::equal(result.pixels.begin(),
                           result.pixels.begin() + static_cast<std::ptrdiff_t>(result.pixel),
                           expected.pixels.begin()))
        << name_of(set);
  }
  return expected;
}

// A walk whose steps have all magnitudes, so that all codes and both sides of every limit occur.
std::vector<std::int32_t> random_pixels(std::mt19937_64& random, std::size_t count, int escapes_in_256) {
  std::vector<std::int32_t> pixels(count);
  std::int64_t value = 0;
  for (auto& pixel : pixels) {
    if (static_cast<int>(random() % 256) < escapes_in_256) {
      const std::int64_t limits[] = {0, 127, 128, 129, 255, 32767, 32768, 32769, kMax};
      std::int64_t step = random() % 4 == 0 ? static_cast<std::int64_t>(random() >> (random() % 34 + 30))
                                            : limits[random() % std::size(limits)];
      if (random() % 2) step = -step;
      const std::int64_t next = value + step;
      value = next < kMin || next > kMax ? (random() % 2 ? kMax : kMin) : next;
    } else {
      const std::int64_t next = value + static_cast<int>(random() % 255) - 127;
      if (next >= kMin && next <= kMax) value = next;
    }
    pixel = static_cast<std::int32_t>(value);
  }
  return pixels;
}

TEST(ByteOffset, EncodesEveryDeltaInItsShortestCode) {
  struct Case {
    std::vector<std::int32_t> pixels;
    std::vector<int> code;
  };
  // Codes as FabIO's compByteOffset writes them for 64-bit data.
  const std::vector<Case> cases = {
      {{0}, {0x00}},
      {{127}, {0x7f}},
      {{-127}, {0x81}},
      {{-128}, {0x80, 0x80, 0xff}},
      {{128}, {0x80, 0x80, 0x00}},
      {{32767}, {0x80, 0xff, 0x7f}},
      {{-32767}, {0x80, 0x01, 0x80}},
      {{-32768}, {0x80, 0x00, 0x80, 0x00, 0x80, 0xff, 0xff}},
      {{32768}, {0x80, 0x00, 0x80, 0x00, 0x80, 0x00, 0x00}},
      {{kMax}, {0x80, 0x00, 0x80, 0xff, 0xff, 0xff, 0x7f}},
      {{-kMax}, {0x80, 0x00, 0x80, 0x01, 0x00, 0x00, 0x80}},
      {{kMin}, {0x80, 0x00, 0x80, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x80, 0xff, 0xff, 0xff, 0xff}},
  };
  for (const auto& [pixels, code] : cases) {
    EXPECT_THAT(numbers(encode_byte_offset(pixels)), ElementsAreArray(code)) << "delta " << pixels[0];
  }
}

TEST(ByteOffset, EncodesTheWholeRangeOfInt32InFifteenBytes) {
  const std::vector<std::int32_t> pixels = {kMax, kMin, kMax};
  const auto data = encode_byte_offset(pixels);
  EXPECT_EQ(data.size(), 7u + 15u + 15u);
  EXPECT_THAT(decode(data, 3).pixels, ElementsAreArray(pixels));
}

TEST(ByteOffset, DecodesEveryCodeAndTheLongFormOfSmallDeltas) {
  const auto data = bytes({0x05, 0xff,                                      // 5, 4
                           0x80, 0x01, 0x00,                                // +1 in three bytes
                           0x80, 0x00, 0x80, 0xfe, 0xff, 0xff, 0xff,        // -2 in seven
                           0x80, 0x00, 0x80, 0x00, 0x00, 0x00, 0x80, 0x03,  // +3 in fifteen
                           0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00});
  const auto result = decode(data, 5);
  EXPECT_EQ(result.status, DecodeStatus::kOk);
  EXPECT_THAT(result.pixels, ElementsAreArray({5, 4, 5, 3, 6}));
}

TEST(ByteOffset, DecodesEverySingleByteDelta) {
  for (int delta = -127; delta <= 127; ++delta) {
    const auto result = decode(bytes({delta & 0xff}), 1);
    EXPECT_EQ(result.status, DecodeStatus::kOk);
    EXPECT_EQ(result.pixels[0], delta);
  }
}

TEST(ByteOffset, DecodesEverySixteenBitDelta) {
  for (int delta = -32767; delta <= 32767; ++delta) {
    const auto result = decode(bytes({0x80, delta & 0xff, (delta >> 8) & 0xff}), 1);
    ASSERT_EQ(result.status, DecodeStatus::kOk);
    ASSERT_EQ(result.pixels[0], delta);
  }
}

TEST(ByteOffset, AgreesWithAnIndependentDecoderOnRandomImages) {
  std::mt19937_64 random(20240601);
  for (int escapes : {0, 1, 16, 128, 256}) {
    for (int round = 0; round < 40; ++round) {
      const auto pixels = random_pixels(random, random() % 700, escapes);
      const auto data = encode_byte_offset(pixels);
      const auto expected = oracle_decode(data);
      ASSERT_TRUE(expected.complete);
      ASSERT_THAT(expected.pixels, ElementsAreArray(pixels));
      const auto result = decode(data, pixels.size());
      ASSERT_EQ(result.status, DecodeStatus::kOk);
      ASSERT_THAT(result.pixels, ElementsAreArray(pixels));
      ASSERT_EQ(result.byte, data.size());
    }
  }
}

TEST(ByteOffset, AgreesWithAnIndependentDecoderOnRandomBytes) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 8000; ++round) {
    std::vector<std::byte> data(random() % 100);
    for (auto& byte : data) {
      const auto pick = random();
      const auto kind = pick % (round % 2 == 0 ? 3 : 24);
      byte = static_cast<std::byte>(kind == 0 ? 0x80 : kind == 1 ? 0x00 : pick >> 32);
    }
    const auto expected = oracle_decode(data);
    const auto result = decode(data, 100);
    std::size_t good = 0;
    while (good < expected.pixels.size() && expected.pixels[good] >= kMin && expected.pixels[good] <= kMax)
      ++good;
    ASSERT_EQ(result.pixel, good);
    ASSERT_EQ(result.status,
              good < expected.pixels.size() ? DecodeStatus::kValueOutOfRange : DecodeStatus::kTruncated);
    for (std::size_t i = 0; i < good; ++i) ASSERT_EQ(result.pixels[i], expected.pixels[i]) << "pixel " << i;
  }
}

TEST(ByteOffset, ResumesAtEverySplit) {
  std::mt19937_64 random(3);
  const auto pixels = random_pixels(random, 203, 40);
  const auto data = encode_byte_offset(pixels);
  for (const InstructionSet set : available_instruction_sets()) {
    for (std::size_t split = 0; split <= pixels.size(); ++split) {
      // Guarded on both sides of the split: a band must not be written beyond its end.
      std::vector<std::int32_t> result(pixels.size());
      std::vector<std::int32_t> first(split);
      ByteOffsetDecoder decoder(data, set);
      ASSERT_EQ(decoder.decode(first), DecodeStatus::kOk);
      ASSERT_EQ(decoder.pixel_position(), split);
      std::copy(first.begin(), first.end(), result.begin());
      ASSERT_EQ(decoder.decode(std::span(result).subspan(split)), DecodeStatus::kOk);
      ASSERT_EQ(decoder.finish(), DecodeStatus::kOk);
      ASSERT_THAT(result, ElementsAreArray(pixels)) << "split at " << split << ", " << name_of(set);
    }
  }
}

TEST(ByteOffset, NamesThePixelOfATruncationAtEveryByte) {
  std::mt19937_64 random(4);
  const auto pixels = random_pixels(random, 150, 60);
  const auto data = encode_byte_offset(pixels);
  for (std::size_t cut = 0; cut < data.size(); ++cut) {
    const std::vector<std::byte> part(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(cut));
    const auto expected = oracle_decode(part);
    const auto result = decode(part, pixels.size());
    ASSERT_EQ(result.status, DecodeStatus::kTruncated) << "cut at " << cut;
    ASSERT_EQ(result.pixel, expected.pixels.size()) << "cut at " << cut;
    const auto whole = encode_byte_offset(std::span(pixels).first(result.pixel));
    ASSERT_EQ(result.byte, whole.size()) << "cut at " << cut;
  }
}

TEST(ByteOffset, WritesNothingBehindTheLastPixel) {
  std::mt19937_64 random(5);
  for (const InstructionSet set : available_instruction_sets()) {
    for (std::size_t count = 0; count < 70; ++count) {
      const auto data = encode_byte_offset(random_pixels(random, 200, 20));
      std::vector<std::int32_t> result(count + 32, 4711);
      ByteOffsetDecoder decoder(data, set);
      ASSERT_EQ(decoder.decode(std::span(result).first(count)), DecodeStatus::kOk);
      for (std::size_t i = count; i < result.size(); ++i) ASSERT_EQ(result[i], 4711) << count << name_of(set);
    }
  }
}

TEST(ByteOffset, FindsWhereSteadyStepsLeaveInt32) {
  for (const int step : {127, 32767, -127, -32767}) {
    const auto last =
        static_cast<std::size_t>(std::abs((step > 0 ? std::int64_t{kMax} : std::int64_t{kMin}) / step));
    const bool short_codes = std::abs(step) == 127;
    if (short_codes && last > 1000) {
      // Most of the way in one step, so that the rest is a run of short codes.
      std::vector<std::int32_t> pixels = {step > 0 ? kMax - 127 * 40000 : kMin + 127 * 40000};
      auto data = encode_byte_offset(pixels);
      data.insert(data.end(), 40100, static_cast<std::byte>(step));
      const auto result = decode(data, 40101);
      EXPECT_EQ(result.status, DecodeStatus::kValueOutOfRange);
      EXPECT_EQ(result.pixel, 40001u);
      continue;
    }
    std::vector<std::byte> data;
    for (std::size_t i = 0; i < last + 20; ++i) {
      for (const int byte : {0x80, step & 0xff, (step >> 8) & 0xff})
        data.push_back(static_cast<std::byte>(byte));
    }
    const auto result = decode(data, last + 20);
    EXPECT_EQ(result.status, DecodeStatus::kValueOutOfRange) << step;
    EXPECT_EQ(result.pixel, last) << step;
    EXPECT_EQ(result.byte, 3 * last) << step;
  }
}

TEST(ByteOffset, StaysAtTheFaultWhenCalledAgain) {
  const auto data = bytes({1, 2, 0x80, 0x00});
  ByteOffsetDecoder decoder(data);
  std::vector<std::int32_t> pixels(4);
  EXPECT_EQ(decoder.decode(pixels), DecodeStatus::kTruncated);
  EXPECT_EQ(decoder.decode(pixels), DecodeStatus::kTruncated);
  EXPECT_EQ(decoder.byte_position(), 2u);
  EXPECT_EQ(decoder.pixel_position(), 2u);
}

TEST(ByteOffset, ReportsBytesLeftAfterTheLastPixel) {
  const auto result = decode(bytes({1, 2, 3, 0}), 3);
  EXPECT_EQ(result.status, DecodeStatus::kTrailingBytes);
  EXPECT_EQ(result.byte, 3u);
  EXPECT_EQ(decode({}, 0).status, DecodeStatus::kOk);
  EXPECT_EQ(decode({}, 1).status, DecodeStatus::kTruncated);
}

TEST(ByteOffset, RefusesValuesBeyondInt32OnBothSides) {
  for (const int sign : {1, -1}) {
    // Up to the limit exactly, then one further, with enough neighbours for a fast path to run.
    for (int before = 0; before < 20; ++before) {
      std::vector<std::int32_t> pixels(static_cast<std::size_t>(before), sign > 0 ? kMax - 3 : kMin + 3);
      pixels.push_back(sign > 0 ? kMax : kMin);
      auto data = encode_byte_offset(pixels);
      ASSERT_EQ(decode(data, pixels.size()).status, DecodeStatus::kOk);
      const std::size_t fault = data.size();
      data.push_back(static_cast<std::byte>(sign > 0 ? 1 : 0xff));
      data.insert(data.end(), 16, std::byte{0});
      const auto result = decode(data, pixels.size() + 17);
      ASSERT_EQ(result.status, DecodeStatus::kValueOutOfRange);
      ASSERT_EQ(result.byte, fault);
      ASSERT_EQ(result.pixel, pixels.size());
    }
  }
}

TEST(ByteOffset, RefusesDeltasThatWouldOverflowSixtyFourBits) {
  const auto huge = bytes({0x01, 0x80, 0x00, 0x80, 0x00, 0x00, 0x00, 0x80,  //
                           0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f});
  const auto result = decode(huge, 2);
  EXPECT_EQ(result.status, DecodeStatus::kValueOutOfRange);
  EXPECT_EQ(result.byte, 1u);
}

TEST(ByteOffset, WideDecodingKeepsToTheGivenRange) {
  const auto data = bytes({0x80, 0x00, 0x80, 0x00, 0x00, 0x00, 0x80,        // fifteen bytes:
                           0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00,  // 4294967295
                           0xff, 0x02});                                    // ..294, ..296
  std::vector<std::int64_t> pixels(3);
  auto result = decode_byte_offset_wide(data, 0, 0xffffffff, pixels);
  EXPECT_EQ(result.status, DecodeStatus::kValueOutOfRange);
  EXPECT_EQ(result.byte, 16u);
  EXPECT_EQ(result.pixel, 2u);
  result = decode_byte_offset_wide(data, INT64_MIN, INT64_MAX, pixels);
  EXPECT_EQ(result.status, DecodeStatus::kOk);
  EXPECT_THAT(pixels, ElementsAreArray({4294967295, 4294967294, 4294967296}));
  EXPECT_EQ(decode_byte_offset_wide(data, INT64_MIN, INT64_MAX, std::span(pixels).first(2)).status,
            DecodeStatus::kTrailingBytes);
  pixels.resize(4);
  EXPECT_EQ(decode_byte_offset_wide(data, INT64_MIN, INT64_MAX, pixels).status, DecodeStatus::kTruncated);
}

}  // namespace
}  // namespace annulus
