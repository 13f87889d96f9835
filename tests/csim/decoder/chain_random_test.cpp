// Random frames through all stages, against the serial decoder.
#include <array>

#include "chain.hpp"
#include "random_frames.hpp"

namespace decoder_test {
namespace {

template <typename S>
void compare_random_frames(uint32_t frame_count) {
  constexpr uint32_t kFramesALaunch = 40;
  const uint32_t launches = frame_count / ANNULUS_RANDOM_STREAMS_DIVISOR / kFramesALaunch;
  std::array<uint32_t, 6> seen = {};
  for (uint32_t launch = 0; launch < launches; ++launch) {
    const uint32_t pixels = launch % 41;
    RandomFrames random(launch, pixels);
    std::vector<Bytes> payloads;
    for (uint32_t i = 0; i < kFramesALaunch; ++i) payloads.push_back(random.next());
    const Filler filler = launch % 2 == 0 ? fill_with(0x80) : fill_randomly(launch);
    const std::vector<Frame> got = decode_in_chain<S>(payloads, pixels, filler);
    ASSERT_EQ(got.size(), payloads.size());
    for (uint32_t i = 0; i < kFramesALaunch; ++i) {
      const Frame expected = decode_serially(payloads[i], pixels);
      ++seen.at(expected.report.status);
      ASSERT_EQ(got[i], expected.padded(pixels, S::kLanes)) << "launch " << launch << ", frame " << i;
    }
  }
  // A comparison shows only what occurs in it.
  for (size_t status = 0; status < seen.size(); ++status) {
    EXPECT_GT(seen[status], launches * kFramesALaunch / 100) << "too few frames of status " << status;
  }
}

TEST(ChainRandom, MillionFramesAt16BytesAreDecodedAsSerially) {
  compare_random_frames<Shape<16, 16>>(1'000'000);
}
TEST(ChainRandom, HundredThousandFramesAt8BytesAreDecodedAsSerially) {
  compare_random_frames<Shape<8, 8>>(100'000);
}
TEST(ChainRandom, HundredThousandFramesFrom8BytesTo16LanesAreDecodedAsSerially) {
  compare_random_frames<Shape<8, 16>>(100'000);
}
TEST(ChainRandom, HundredThousandFramesAt32BytesAreDecodedAsSerially) {
  compare_random_frames<Shape<32, 32>>(100'000);
}

}  // namespace
}  // namespace decoder_test
