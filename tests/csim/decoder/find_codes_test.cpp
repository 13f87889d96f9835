#include <hls/find_codes.hpp>

#include <algorithm>

#include "stages.hpp"

namespace decoder_test {
namespace {

using kernels::Code;
using kernels::Codes;
using kernels::Window;

Code decode_alone(const Bytes& bytes) {
  uint8_t padded[kernels::kLongestCode] = {};
  std::copy(bytes.begin(), bytes.end(), padded);
  return kernels::decode_code(padded, 0);
}

TEST(DecodeCode, ReadsEveryOneByteCode) {
  for (int delta = INT8_MIN + 1; delta <= INT8_MAX; ++delta) {
    const Code code = decode_alone({static_cast<uint8_t>(delta)});
    ASSERT_EQ(code.length, 1) << delta;
    ASSERT_EQ(code.delta, delta);
  }
}

TEST(DecodeCode, ReadsEveryThreeByteCodeAlsoOfSmallDifferences) {
  for (int delta = INT16_MIN + 1; delta <= INT16_MAX; ++delta) {
    Bytes bytes;
    append_code(bytes, delta, 3);
    const Code code = decode_alone(bytes);
    ASSERT_EQ(code.length, 3) << delta;
    ASSERT_EQ(code.delta, delta);
  }
}

TEST(DecodeCode, ReadsLongCodesAndLimitsWhatNoGoodFrameHolds) {
  std::vector<int64_t> deltas = {0,        1, -1, INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, INT64_MIN + 1,
                                 INT64_MAX};
  for (int bit = 6; bit < 63; ++bit) {
    const int64_t power = int64_t{1} << bit;
    for (const int64_t delta : {power - 1, power, power + 1, -power - 1, -power, -power + 1})
      deltas.push_back(delta);
  }
  for (const int64_t delta : deltas) {
    for (const int length : {7, 15}) {
      if (!fits(delta, length)) continue;
      Bytes bytes;
      append_code(bytes, delta, length);
      const Code code = decode_alone(bytes);
      ASSERT_EQ(code.length, length) << delta;
      ASSERT_EQ(code.delta, std::clamp(delta, -kLimit, kLimit));
    }
  }
}

template <typename S>
class FindCodes : public ::testing::Test {};
TYPED_TEST_SUITE(FindCodes, WordShapes, ShapeNames);

template <int kBytes>
std::vector<Codes<kBytes>> find_in(const std::vector<Bytes>& payloads, const Filler& filler) {
  hls::stream<Window<kBytes>> windows("windows");
  hls::stream<Codes<kBytes>> codes("codes");
  uint64_t words = 0;
  for (const Bytes& payload : payloads) {
    const auto cut = windows_of<kBytes>(payload, filler);
    words += cut.size();
    feed(windows, cut);
  }
  const auto frames = static_cast<uint32_t>(payloads.size());
  EXPECT_EQ(iterations_of([&] { kernels::find_codes<kBytes>(windows, frames, codes); }), words);
  EXPECT_TRUE(is_empty(windows));
  const auto got = drain(codes);
  EXPECT_EQ(got.size(), words);
  return got;
}

// The words of a frame from `first` on must hold just the codes of the payload, but its last `cut` codes,
// of which the frame has not all bytes.
template <int kBytes>
void expect_codes(const std::vector<Codes<kBytes>>& got, size_t first, const Payload& payload,
                  size_t cut = 0) {
  const size_t words = std::max<size_t>(1, (payload.bytes.size() + kBytes - 1) / kBytes);
  ASSERT_LE(first + words, got.size());
  std::vector<uint32_t> starts(words, 0);
  std::vector<uint32_t> cuts(words, 0);
  for (size_t i = 0; i < payload.starts.size(); ++i) {
    const uint32_t word = payload.starts[i] / kBytes;
    const uint32_t byte = payload.starts[i] % kBytes;
    const bool is_cut = i + cut >= payload.starts.size();
    (is_cut ? cuts : starts)[word] |= uint32_t{1} << byte;
    if (is_cut) continue;
    ASSERT_EQ(got[first + word].delta[byte], payload.deltas[i]) << "code " << i;
  }
  for (size_t word = 0; word < words; ++word) {
    ASSERT_EQ(got[first + word].starts, starts[word]) << "word " << word;
    ASSERT_EQ(got[first + word].cut, cuts[word]) << "word " << word;
    ASSERT_EQ(got[first + word].count, std::min<size_t>(kBytes, payload.bytes.size() - word * kBytes));
    ASSERT_EQ(got[first + word].last, word + 1 == words);
  }
}

TYPED_TEST(FindCodes, StepFollowsTheCodesFromEveryEntry) {
  constexpr int kBytes = TypeParam::kBytes;
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    Payload payload;  // a window full of codes, seen from each of its bytes
    while (payload.size() < static_cast<uint32_t>(Window<kBytes>::kSize)) {
      payload.add_delta(static_cast<int>(random() % 200) - 100, kLengths[random() % (1 + round % 4)]);
    }
    for (uint32_t entry = 0; entry < kBytes; ++entry) {
      if (std::find(payload.starts.begin(), payload.starts.end(), entry) == payload.starts.end()) continue;
      uint32_t expected = 0;
      uint32_t next = payload.size();
      for (const uint32_t start : payload.starts) {
        if (start >= kBytes) {
          next = start;
          break;
        }
        if (start >= entry) expected |= uint32_t{1} << start;
      }
      kernels::FindCodesState state;
      state.entry = static_cast<uint8_t>(entry);
      const auto window = windows_of<kBytes>(payload.bytes, fill_with(0)).front();
      const Codes<kBytes> codes = kernels::find_codes_step(state, window);
      ASSERT_EQ(codes.starts, expected) << "round " << round << ", entry " << entry;
      ASSERT_EQ(codes.cut, 0u) << "round " << round << ", entry " << entry;
      ASSERT_EQ(state.entry, next - kBytes) << "round " << round << ", entry " << entry;
    }
  }
}

TYPED_TEST(FindCodes, StepWithAnEntryBeyondTheWordFindsNothing) {
  constexpr int kBytes = TypeParam::kBytes;
  const auto window = windows_of<kBytes>(Bytes(3 * kBytes, 1), fill_with(0)).front();
  for (int beyond = 0; beyond < kernels::kLongestCode; ++beyond) {
    kernels::FindCodesState state;
    state.entry = static_cast<uint8_t>(kBytes + beyond);
    const Codes<kBytes> codes = kernels::find_codes_step(state, window);
    EXPECT_EQ(codes.starts | codes.cut, 0u) << beyond;
    EXPECT_EQ(state.entry, beyond);
  }
}

TYPED_TEST(FindCodes, EveryPairOfLengthsAtEveryByteOfAWord) {
  constexpr int kBytes = TypeParam::kBytes;
  for (const int first : kLengths) {
    for (const int second : kLengths) {
      for (int offset = 0; offset < 3 * kBytes; ++offset) {
        SCOPED_TRACE(std::to_string(first) + " then " + std::to_string(second) + " at " +
                     std::to_string(offset));
        Payload payload;
        for (int i = 0; i < offset; ++i) payload.add_delta(i % 100 - 50, 1);
        payload.add_delta(-77, first);
        payload.add_delta(99, second);
        for (int i = 0; i < kBytes; ++i) payload.add_delta(i, 1);
        expect_codes(find_in<kBytes>({payload.bytes}, fill_with(0x80)), 0, payload);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(FindCodes, CodesThatTheFrameCutsAreNotWholeWhateverFollows) {
  constexpr int kBytes = TypeParam::kBytes;
  for (const auto& [name, filler] : fillers()) {
    for (const int length : {3, 7, 15}) {
      for (int kept = 1; kept < length; ++kept) {
        for (int offset = 0; offset < 2 * kBytes; ++offset) {
          SCOPED_TRACE(std::to_string(kept) + " of " + std::to_string(length) + " bytes at " +
                       std::to_string(offset) + ", then " + name);
          Payload payload;
          for (int i = 0; i < offset; ++i) payload.add_delta(i % 100, 1);
          payload.add_delta(5, length);
          payload.bytes.resize(offset + kept);
          expect_codes(find_in<kBytes>({payload.bytes}, filler), 0, payload, 1);
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(FindCodes, AFrameThatEndsInsideACodeDoesNotMoveTheStartOfTheNext) {
  constexpr int kBytes = TypeParam::kBytes;
  for (int kept = 1; kept <= 15; ++kept) {
    for (int offset = 0; offset < kBytes; ++offset) {
      SCOPED_TRACE(std::to_string(kept) + " bytes of a code at " + std::to_string(offset));
      Payload first;
      for (int i = 0; i < offset; ++i) first.add_delta(1, 1);
      first.add_delta(123456789012, 15);
      first.bytes.resize(offset + kept);
      first.deltas.back() = kLimit;
      Payload second;
      for (int i = 0; i < 2 * kBytes; ++i) second.add_delta(i, 1);
      const auto got = find_in<kBytes>({first.bytes, {}, second.bytes}, fill_with(0x80));
      const size_t words = (first.bytes.size() + kBytes - 1) / kBytes;
      expect_codes(got, 0, first, kept < 15 ? 1 : 0);
      expect_codes(got, words, Payload{});
      expect_codes(got, words + 1, second);
      if (this->HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace decoder_test
