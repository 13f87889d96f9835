// The stages as a dataflow: a thread each, streams bounded.
#include "chain.hpp"

namespace blocks_test {
namespace {

std::vector<Bytes> mixed_chunks(uint32_t pixels, const PixelKind& kind, uint32_t block_bytes, size_t count) {
  std::mt19937 random(pixels);
  std::vector<Bytes> chunks;
  for (size_t i = 0; i < count; ++i) {
    Bytes elements(size_t{pixels} << kind.shift);
    for (uint8_t& byte : elements) byte = static_cast<uint8_t>(random() % 8 == 0 ? random() : 0);
    Bytes chunk = make_chunk(elements, kind.shift, block_bytes, block_bytes, Compressor::kDefault);
    if (i % 5 == 2) chunk.resize(random() % chunk.size());
    if (i % 5 == 4) chunk[random() % chunk.size()] ^= 0x10;
    if (i % 11 == 7) chunk.resize(chunk.size() + random() % 300);
    chunks.push_back(chunk);
  }
  return chunks;
}

TEST(BlockLaunch, RunsWithStreamsOfOneElementWhateverTheFramesHold) {
  for (const PixelKind& kind : kKinds) {
    for (const uint32_t pixels : {1u, 7u, 8u, 37u, 1000u}) {
      const std::vector<Bytes> chunks = mixed_chunks(pixels, kind, 64u << kind.shift, 20);
      annulus_sim::Launch launch(annulus_sim::Mode::kConcurrent);
      launch.force_depth(1);
      ASSERT_NO_FATAL_FAILURE(
          expect_as_serially(launch_chain<3>(launch, chunks, pixels, kind), chunks, pixels, kind));
    }
  }
}

TEST(BlockLaunch, LargeBlocksWithStreamsOfOneElement) {
  const PixelKind kind = {"uint16", 1, false};
  const std::vector<Bytes> chunks = mixed_chunks(40000, kind, 8192, 5);
  annulus_sim::Launch launch(annulus_sim::Mode::kConcurrent);
  launch.force_depth(1);
  ASSERT_NO_FATAL_FAILURE(
      expect_as_serially(launch_chain<4>(launch, chunks, 40000, kind), chunks, 40000, kind));
}

TEST(BlockLaunch, NoFramesAtAll) {
  annulus_sim::Launch launch(annulus_sim::Mode::kConcurrent);
  EXPECT_TRUE(launch_chain<2>(launch, {}, 100, kKinds[2]).empty());
}

// 16 bytes a clock out of an engine where nothing is short, and as many into the vectors.
TEST(BlockLaunch, LongMatchesTakeAClockForEverySixteenBytes) {
  const PixelKind kind = {"uint32", 2, false};
  constexpr uint32_t kPixels = 4 * 2048;
  const std::vector<Bytes> chunks = {make_chunk(Bytes(4 * kPixels), 2, 8192, 0, Compressor::kDefault)};
  annulus_sim::Launch launch(annulus_sim::Mode::kSequential);
  ASSERT_NO_FATAL_FAILURE(
      expect_as_serially(launch_chain<1>(launch, chunks, kPixels, kind), chunks, kPixels, kind));
  for (const auto& stage : launch.report().stages) {
    if (stage.name == "decode_blocks") {
      EXPECT_LE(stage.iterations, 4 * kPixels / 16 + 512 + 4 * 4);
    }
    if (stage.name == "collect_pixels") {
      EXPECT_LE(stage.iterations, kPixels / kLanes + 8 + 8);
    }
  }
}

}  // namespace
}  // namespace blocks_test
