#include <hls/split_windows.hpp>

#include <numeric>

#include "stages.hpp"

namespace decoder_test {
namespace {

using kernels::Beat;
using kernels::kBeatBytes;
using kernels::Window;

template <typename S>
class SplitWindows : public ::testing::Test {};
TYPED_TEST_SUITE(SplitWindows, WordShapes, ShapeNames);

Bytes random_bytes(uint32_t size, uint32_t seed) {
  const Filler next = fill_randomly(seed);
  Bytes bytes;
  for (uint32_t i = 0; i < size; ++i) bytes.push_back(next());
  return bytes;
}

template <int kBytes>
void expect_window(const Window<kBytes>& window, const Bytes& bytes, size_t word, size_t words) {
  const size_t left = bytes.size() - word * kBytes;
  const size_t reach = std::min<size_t>(left, Window<kBytes>::kSize);
  ASSERT_EQ(window.last, word + 1 == words);
  ASSERT_EQ(window.count, std::min<size_t>(left, kBytes));
  ASSERT_EQ(window.reach, reach);
  for (size_t i = 0; i < reach; ++i) ASSERT_EQ(window.byte[i], bytes[word * kBytes + i]) << "byte " << i;
}

TYPED_TEST(SplitWindows, CutsEveryPartOfABeatForEveryNumberOfBytesLeft) {
  constexpr int kBytes = TypeParam::kBytes;
  constexpr uint32_t kSize = Window<kBytes>::kSize;
  Beat beat;
  Beat next;
  std::iota(beat.byte, beat.byte + kBeatBytes, 0);
  std::iota(next.byte, next.byte + kBeatBytes, kBeatBytes);
  for (uint32_t part = 0; part < kBeatBytes / kBytes; ++part) {
    for (uint32_t left = 0; left <= 2 * kBeatBytes; ++left) {
      const Window<kBytes> window = kernels::cut_window<kBytes>(beat, next, part, left);
      ASSERT_EQ(window.last, left <= kBytes) << left << " bytes left";
      ASSERT_EQ(window.count, std::min<uint32_t>(left, kBytes)) << left << " bytes left";
      ASSERT_EQ(window.reach, std::min(left, kSize)) << left << " bytes left";
      for (uint32_t i = 0; i < kSize; ++i) ASSERT_EQ(window.byte[i], part * kBytes + i) << "part " << part;
    }
  }
}

TYPED_TEST(SplitWindows, GivesEveryByteOfEverySizeInOneIterationAWord) {
  constexpr int kBytes = TypeParam::kBytes;
  for (uint32_t size = 0; size <= 5 * kBeatBytes + 1; ++size) {
    SCOPED_TRACE(std::to_string(size) + " bytes");
    const Bytes bytes = random_bytes(size, size);
    hls::stream<uint32_t> sizes("sizes");
    hls::stream<Beat> beats("beats");
    hls::stream<Window<kBytes>> windows("windows");
    feed_payload(sizes, beats, bytes, fill_with(0x80));
    const uint64_t iterations =
        iterations_of([&] { kernels::split_windows<kBytes>(sizes, beats, 1, windows); });
    const size_t words = size == 0 ? 1 : (size + kBytes - 1) / kBytes;
    const std::vector<Window<kBytes>> got = drain(windows);
    ASSERT_EQ(got.size(), words);
    ASSERT_EQ(iterations, words);
    ASSERT_TRUE(is_empty(beats)) << "beats are left";
    for (size_t word = 0; word < words; ++word) expect_window(got[word], bytes, word, words);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(SplitWindows, StartsEachFrameOfALaunchFromAFreshBeat) {
  constexpr int kBytes = TypeParam::kBytes;
  hls::stream<uint32_t> sizes("sizes");
  hls::stream<Beat> beats("beats");
  hls::stream<Window<kBytes>> windows("windows");
  std::vector<Bytes> frames;
  for (const uint32_t size : {130u, 0u, 1u, 64u, 65u, 0u, 63u, 128u, 7u}) {
    frames.push_back(random_bytes(size, 1000 + size));
    feed_payload(sizes, beats, frames.back(), fill_randomly(size));
  }
  kernels::split_windows<kBytes>(sizes, beats, static_cast<uint32_t>(frames.size()), windows);
  ASSERT_TRUE(is_empty(beats));
  const std::vector<Window<kBytes>> got = drain(windows);
  size_t next = 0;
  for (const Bytes& frame : frames) {
    SCOPED_TRACE(std::to_string(frame.size()) + " bytes");
    const size_t words = frame.empty() ? 1 : (frame.size() + kBytes - 1) / kBytes;
    ASSERT_LE(next + words, got.size());
    for (size_t word = 0; word < words; ++word) expect_window(got[next++], frame, word, words);
    if (this->HasFatalFailure()) return;
  }
  EXPECT_EQ(next, got.size());
}

}  // namespace
}  // namespace decoder_test
