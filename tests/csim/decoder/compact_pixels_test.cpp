#include <hls/compact_pixels.hpp>

#include <bit>

#include "stages.hpp"

namespace decoder_test {
namespace {

using kernels::CompactState;
using kernels::Pixels;
using kernels::Report;
using kernels::Values;

TEST(BelowLowest, MasksTheBitsBelowTheLowestOne) {
  EXPECT_EQ(kernels::below_lowest(0), ~uint32_t{0});
  for (uint32_t mask = 1; mask < 1 << 16; ++mask) {
    const uint32_t expected = (uint32_t{1} << std::countr_zero(mask)) - 1;
    ASSERT_EQ(kernels::below_lowest(mask), expected) << mask;
    ASSERT_EQ(kernels::below_lowest(mask << 16), expected << 16 | 0xFFFF) << mask;
  }
}

TEST(StartAfter, FindsTheCodeAfterSoManyOthers) {
  for (uint32_t starts = 0; starts < 1 << 8; ++starts) {
    uint32_t rest = starts;
    for (uint32_t count = 0; count < 10; ++count, rest &= rest - 1) {
      ASSERT_EQ(kernels::start_after<8>(starts, count), rest & (~rest + 1)) << starts << " after " << count;
    }
    ASSERT_EQ(kernels::start_after<8>(starts, UINT32_MAX), 0u);
  }
  EXPECT_EQ(kernels::start_after<32>(~uint32_t{0}, 31), uint32_t{1} << 31);
  EXPECT_EQ(kernels::start_after<32>(~uint32_t{0}, 32), 0u);
}

// Code by code: what accept_codes finds at once.
struct Judged {
  uint32_t accepted = 0;
  Report report = {kernels::kGood, 0, 0};
};
Judged judge_one_by_one(const Values<8>& word, uint32_t byte, uint32_t pixel, uint32_t pixels) {
  Judged judged;
  for (uint32_t k = 0; k < 8; ++k) {
    const uint32_t bit = uint32_t{1} << k;
    if ((word.cut & bit) != 0) {
      judged.report = {pixel == pixels ? kernels::kTrailingBytes : kernels::kTruncated, byte + k, pixel};
      return judged;
    }
    if ((word.starts & bit) == 0) continue;
    if (pixel == pixels) {
      judged.report = {kernels::kTooManyPixels, byte + k, pixel};
      return judged;
    }
    if ((word.out_of_range & bit) != 0) {
      judged.report = {kernels::kValueOutOfRange, byte + k, pixel};
      return judged;
    }
    judged.accepted |= bit;
    ++pixel;
  }
  if (word.last && pixel < pixels) judged.report = {kernels::kTooFewPixels, byte + word.count, pixel};
  return judged;
}

void expect_judged(const Values<8>& word, uint32_t left) {
  constexpr uint32_t kByte = 800;
  constexpr uint32_t kPixel = 300;
  CompactState<8> state;
  state.byte = kByte;
  state.pixel = kPixel;
  const uint32_t accepted = kernels::accept_codes(state, word, kPixel + left);
  const Judged expected = judge_one_by_one(word, kByte, kPixel, kPixel + left);
  ASSERT_EQ(accepted, expected.accepted);
  ASSERT_EQ(state.report.status, expected.report.status);
  ASSERT_EQ(state.report.byte, expected.report.byte);
  ASSERT_EQ(state.report.pixel, expected.report.pixel);
  ASSERT_EQ(state.faulty, expected.report.status != kernels::kGood);
  ASSERT_EQ(state.byte, kByte + word.count);
  if (state.faulty) return;  // then nobody asks for the number of pixels
  ASSERT_EQ(state.pixel, kPixel + static_cast<uint32_t>(std::popcount(expected.accepted)));
}

TEST(AcceptCodes, JudgesEveryWordOf8AsOneCodeAfterTheOther) {
  for (uint32_t starts = 0; starts < 1 << 8; ++starts) {
    for (uint32_t cut = 0; cut < 1 << 8; cut = cut == 0 ? 1 : cut << 1) {
      if (cut != 0 && starts >= cut) continue;  // a cut code is the last
      for (uint32_t outside : {0u, starts, starts & 0xF0, starts & 0xAA, starts & 0x80}) {
        for (uint32_t left = 0; left <= 9; ++left) {
          for (const bool last : {false, true}) {
            if (cut != 0 && !last) continue;
            Values<8> word = {};
            word.starts = starts;
            word.cut = cut;
            word.out_of_range = outside;
            word.count = static_cast<uint8_t>(last ? std::bit_width(starts | cut) : 8);
            word.last = last;
            expect_judged(word, left);
            ASSERT_FALSE(::testing::Test::HasFatalFailure())
                << "starts " << starts << ", cut " << cut << ", out of range " << outside << ", left "
                << left;
          }
        }
      }
    }
  }
}

TEST(AcceptCodes, KeepsTheFirstFault) {
  CompactState<8> state;
  Values<8> word = {};
  word.starts = 0b101;
  word.out_of_range = 0b100;
  word.count = 8;
  kernels::accept_codes(state, word, 100);
  word.out_of_range = 0b001;
  word.cut = 0b10000;
  word.last = true;
  EXPECT_EQ(kernels::accept_codes(state, word, 100), 0u);
  EXPECT_EQ(state.report.status, kernels::kValueOutOfRange);
  EXPECT_EQ(state.report.byte, 2u);
  EXPECT_EQ(state.report.pixel, 1u);
}

template <typename S>
class CompactPixels : public ::testing::Test {};
TYPED_TEST_SUITE(CompactPixels, Shapes, ShapeNames);

// A good frame of `pixels` pixels, `density` eighths of the bytes being codes; values count up from `first`.
template <int kBytes>
std::vector<Values<kBytes>> words_of(uint32_t pixels, int32_t first, uint32_t density, std::mt19937& random) {
  std::vector<Values<kBytes>> words;
  uint32_t made = 0;
  do {
    Values<kBytes> word;
    word.starts = word.cut = word.out_of_range = 0;
    word.count = kBytes;
    word.last = false;
    for (int k = 0; k < kBytes; ++k) {
      word.value[k] = -7;
      if (made == pixels || random() % 8 >= density) continue;
      word.starts |= uint32_t{1} << k;
      word.value[k] = first + static_cast<int32_t>(made++);
    }
    words.push_back(word);
  } while (made < pixels);
  words.back().last = true;
  return words;
}

TYPED_TEST(CompactPixels, PacksEveryNumberOfPixelsWithAtMostOneIterationMoreThanWords) {
  constexpr uint32_t kLanes = TypeParam::kLanes;
  std::mt19937 random(5);
  for (uint32_t pixels = 0; pixels <= 5 * kLanes + 1; ++pixels) {
    for (const uint32_t density : {1u, 4u, 8u}) {
      SCOPED_TRACE(std::to_string(pixels) + " pixels, density " + std::to_string(density));
      hls::stream<Values<TypeParam::kBytes>> values("values");
      hls::stream<Pixels<kLanes>> vectors("vectors");
      hls::stream<Report> reports("reports");
      const auto words = words_of<TypeParam::kBytes>(pixels, 1, density, random);
      feed(values, words);
      const uint64_t iterations =
          iterations_of([&] { kernels::compact_pixels(values, 1, pixels, vectors, reports); });
      EXPECT_EQ(iterations, words.size() + (pixels % kLanes == 0 ? 0 : 1));
      Frame expected;
      for (uint32_t i = 0; i < pixels; ++i) expected.pixels.push_back(static_cast<int32_t>(i + 1));
      const std::vector<Frame> got = collect_frames(drain(vectors), drain(reports), pixels);
      ASSERT_EQ(got.size(), 1u);
      ASSERT_EQ(got[0], expected.padded(pixels, kLanes));
    }
  }
}

TYPED_TEST(CompactPixels, SendsAllVectorsOfAFrameWithAFaultAndStartsTheNextClean) {
  constexpr uint32_t kLanes = TypeParam::kLanes;
  constexpr uint32_t kPixels = 3 * kLanes + 3;
  std::mt19937 random(6);
  for (uint32_t faulty = 0; faulty < kPixels; ++faulty) {
    SCOPED_TRACE("fault in pixel " + std::to_string(faulty));
    auto words = words_of<TypeParam::kBytes>(kPixels, 1000, 5, random);
    Frame bad;
    uint32_t seen = 0;
    for (size_t word = 0; word < words.size(); ++word) {
      for (uint32_t k = 0; k < TypeParam::kBytes; ++k) {
        if ((words[word].starts >> k & 1) == 0 || seen++ != faulty) continue;
        words[word].out_of_range = uint32_t{1} << k;
        bad.report = {kernels::kValueOutOfRange, static_cast<uint32_t>(word * TypeParam::kBytes + k), faulty};
      }
    }
    for (uint32_t i = 0; i < faulty; ++i) bad.pixels.push_back(static_cast<int32_t>(1000 + i));
    Frame good;
    for (uint32_t i = 0; i < kPixels; ++i) good.pixels.push_back(static_cast<int32_t>(5000 + i));

    hls::stream<Values<TypeParam::kBytes>> values("values");
    hls::stream<Pixels<kLanes>> vectors("vectors");
    hls::stream<Report> reports("reports");
    feed(values, words);
    feed(values, words_of<TypeParam::kBytes>(kPixels, 5000, 5, random));
    kernels::compact_pixels(values, 2, kPixels, vectors, reports);
    ASSERT_TRUE(is_empty(values));
    const std::vector<Frame> got = collect_frames(drain(vectors), drain(reports), kPixels);
    ASSERT_EQ(got.size(), 2u);
    ASSERT_EQ(got[0], bad.padded(kPixels, kLanes));
    ASSERT_EQ(got[1], good.padded(kPixels, kLanes));
  }
}

}  // namespace
}  // namespace decoder_test
