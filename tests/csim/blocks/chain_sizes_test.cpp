// Good chunks of every size, type and block size.
#include "chain.hpp"

namespace blocks_test {
namespace {

// Small counts with now and then anything, as a detector has it; `noise`: any byte.
Bytes random_elements(uint32_t pixels, uint32_t shift, bool noise, std::mt19937& random) {
  Bytes elements = noise ? random_bytes(size_t{pixels} << shift, random) : Bytes(size_t{pixels} << shift);
  for (size_t i = 0; i < pixels && !noise; ++i) {
    elements[i << shift] = static_cast<uint8_t>(random() % 5);
    if (random() % 100 == 0) {
      for (size_t k = 0; k < size_t{1} << shift; ++k)
        elements[(i << shift) + k] = static_cast<uint8_t>(random() % 3 == 0 ? random() : 255);
    }
  }
  return elements;
}

TEST(BlockChain, EverySizeOfEveryTypeFromNoPixelOn) {
  std::mt19937 random(1);
  for (const PixelKind& kind : kKinds) {
    for (uint32_t pixels = 0; pixels <= 300; ++pixels) {
      std::vector<Bytes> chunks;
      for (int frame = 0; frame < 3; ++frame) {
        const Bytes elements = random_elements(pixels, kind.shift, frame == 1, random);
        chunks.push_back(make_chunk(elements, kind.shift, 8192, frame == 2 ? 0 : 8192, Compressor::kDefault));
      }
      ASSERT_NO_FATAL_FAILURE(
          expect_as_serially(decode_in_chain<3>(chunks, pixels, kind), chunks, pixels, kind));
    }
  }
}

TEST(BlockChain, EveryBlockSizeThatIsAMultipleOfEightPixels) {
  std::mt19937 random(2);
  for (const PixelKind& kind : kKinds) {
    const uint32_t unit = 8u << kind.shift;
    for (uint32_t block = unit; block <= 8192; block += unit * (block < 600 ? 1 : 7)) {
      const uint32_t pixels = (block >> kind.shift) * 2 + static_cast<uint32_t>(random()) % 100;
      const Bytes elements = random_elements(pixels, kind.shift, block % 5 == 0, random);
      const std::vector<Bytes> chunks = {make_chunk(elements, kind.shift, block, block, Compressor::kFast)};
      ASSERT_NO_FATAL_FAILURE(
          expect_as_serially(decode_in_chain<2>(chunks, pixels, kind), chunks, pixels, kind))
          << "blocks of " << block << " bytes";
    }
  }
}

TEST(BlockChain, LargeFramesThroughEveryNumberOfEngines) {
  std::mt19937 random(3);
  for (const PixelKind& kind : kKinds) {
    const uint32_t pixels = 30000 + static_cast<uint32_t>(random()) % 5000;
    std::vector<Bytes> chunks;
    for (const Compressor compressor : {Compressor::kDefault, Compressor::kFast, Compressor::kThorough}) {
      const Bytes elements = random_elements(pixels, kind.shift, false, random);
      chunks.push_back(make_chunk(elements, kind.shift, 8192, 0, compressor));
    }
    ASSERT_NO_FATAL_FAILURE(
        expect_as_serially(decode_in_chain<1>(chunks, pixels, kind), chunks, pixels, kind));
    ASSERT_NO_FATAL_FAILURE(
        expect_as_serially(decode_in_chain<5>(chunks, pixels, kind), chunks, pixels, kind));
    ASSERT_NO_FATAL_FAILURE(
        expect_as_serially(decode_in_chain<8>(chunks, pixels, kind), chunks, pixels, kind));
  }
}

}  // namespace
}  // namespace blocks_test
