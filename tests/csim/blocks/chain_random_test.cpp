// Many random blocks and chunks, good and damaged.
#include "chain.hpp"

namespace blocks_test {
namespace {

constexpr PixelKind kU8 = {"uint8", 0, false};

// A frame of one block: the bytes as they are.
Bytes chunk_of_block(const Bytes& packed, uint32_t size) {
  Bytes chunk;
  append_big_endian(chunk, size, 8);
  append_big_endian(chunk, 0, 4);
  append_big_endian(chunk, packed.size(), 4);
  chunk.insert(chunk.end(), packed.begin(), packed.end());
  return chunk;
}

// A byte, a few bytes, or the end of it changed.
Bytes damaged(Bytes bytes, std::mt19937& random) {
  for (uint32_t times = 1 + random() % 3; times > 0 && !bytes.empty(); --times) {
    const auto at = static_cast<std::ptrdiff_t>(random() % bytes.size());
    switch (random() % 4) {
      case 0:
        bytes.erase(bytes.begin() + at);
        break;
      case 1:
        bytes.insert(bytes.begin() + at, static_cast<uint8_t>(random()));
        break;
      case 2:
        bytes.resize(static_cast<size_t>(at));
        break;
      default:
        bytes[static_cast<size_t>(at)] = static_cast<uint8_t>(random());
    }
  }
  return bytes;
}

TEST(BlockChain, RandomBlocksDecodeAsLiblz4DecodesThemAndBadOnesAreRefused) {
  constexpr uint32_t kBlocks = 120000 / ANNULUS_RANDOM_STREAMS_DIVISOR;
  std::mt19937 random(11);
  uint32_t refused = 0;
  for (uint32_t done = 0; done < kBlocks;) {
    const uint32_t size = 8 * (1 + static_cast<uint32_t>(random()) % (random() % 64 == 0 ? 1024 : 24));
    std::vector<Bytes> chunks;
    for (int i = 0; i < 40; ++i, ++done) {
      Bytes packed = random_block(size, random).bytes;
      if (random() % 3 == 0) packed = damaged(packed, random);
      // What the format allows is what liblz4 takes, but for an offset of zero.
      const SerialBlock block = decode_block_serially(packed, size);
      if (block.status != kernels::kWrongOffset) {
        ASSERT_EQ(block.status == kernels::kGood ? block.decoded : Bytes(), decode_by_library(packed, size));
      }
      refused += block.status != kernels::kGood;
      chunks.push_back(chunk_of_block(packed, size));
    }
    ASSERT_NO_FATAL_FAILURE(expect_as_serially(decode_in_chain<4>(chunks, size, kU8), chunks, size, kU8));
  }
  EXPECT_GT(refused, kBlocks / 10);
}

TEST(BlockChain, RandomChunksWithAnyDamage) {
  constexpr uint32_t kLaunches = 2000 / ANNULUS_RANDOM_STREAMS_DIVISOR;
  std::mt19937 random(12);
  for (uint32_t launch = 0; launch < kLaunches; ++launch) {
    const PixelKind& kind = kKinds[random() % std::size(kKinds)];
    const uint32_t pixels = static_cast<uint32_t>(random()) % 500;
    const uint32_t block = (8u << kind.shift) * (1 + static_cast<uint32_t>(random()) % 20);
    std::vector<Bytes> chunks;
    for (int i = 0; i < 5; ++i) {
      Bytes elements(size_t{pixels} << kind.shift);
      for (uint8_t& byte : elements) byte = static_cast<uint8_t>(random() % 4 == 0 ? random() : 0);
      const Bytes chunk = make_chunk(elements, kind.shift, block, block, Compressor::kDefault);
      chunks.push_back(random() % 2 == 0 ? damaged(chunk, random) : chunk);
    }
    ASSERT_NO_FATAL_FAILURE(
        expect_as_serially(decode_in_chain<3>(chunks, pixels, kind), chunks, pixels, kind));
  }
}

}  // namespace
}  // namespace blocks_test
