// Damaged chunks: each is named with its place, and its neighbours are right.
#include "chain.hpp"

namespace blocks_test {
namespace {

constexpr PixelKind kU16 = {"uint16", 1, false};
constexpr PixelKind kU32 = {"uint32", 2, false};

// Blocks of 64 pixels, the last of 24, and 5 left-over pixels.
constexpr uint32_t kPixels = 3 * 64 + 24 + 5;

Bytes good_chunk(const PixelKind& kind, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes elements(size_t{kPixels} << kind.shift);
  for (size_t i = 0; i < kPixels; ++i) elements[i << kind.shift] = static_cast<uint8_t>(random() % 3);
  return make_chunk(elements, kind.shift, 64u << kind.shift, 64u << kind.shift, Compressor::kDefault);
}

// The chunk between good ones, with several engines: as the serial decoder has it.
void expect_between_good_chunks(const Bytes& chunk, const PixelKind& kind, uint32_t status) {
  const std::vector<Bytes> chunks = {good_chunk(kind, 1), chunk, good_chunk(kind, 2), chunk, chunk,
                                     good_chunk(kind, 3)};
  const std::vector<Frame> got = decode_in_chain<3>(chunks, kPixels, kind);
  ASSERT_NO_FATAL_FAILURE(expect_as_serially(got, chunks, kPixels, kind));
  if (status != UINT32_MAX) {
    ASSERT_EQ(got[1].report.status, status);
  }
}

size_t length_at(size_t block, const Bytes& chunk) {
  size_t at = 12;
  for (; block > 0; --block) at += 4 + read_big_endian(chunk, at, 4);
  return at;
}

// Puts `packed` in place of a block.
Bytes with_block(const Bytes& chunk, size_t block, const Bytes& packed) {
  const auto first = static_cast<std::ptrdiff_t>(length_at(block, chunk));
  const auto end = static_cast<std::ptrdiff_t>(length_at(block + 1, chunk));
  Bytes changed(chunk.begin(), chunk.begin() + first);
  append_big_endian(changed, packed.size(), 4);
  changed.insert(changed.end(), packed.begin(), packed.end());
  changed.insert(changed.end(), chunk.begin() + end, chunk.end());
  return changed;
}

TEST(BlockFaults, HeadersAreHeldToTheFrameAndToWhatTheKernelTakes) {
  for (const PixelKind& kind : {kU16, kU32}) {
    const Bytes good = good_chunk(kind, 4);
    for (size_t byte = 0; byte < 8; ++byte) {
      Bytes other = good;
      other[byte] ^= 1;
      ASSERT_NO_FATAL_FAILURE(expect_between_good_chunks(other, kind, kernels::kWrongChunkSize));
    }
    for (const uint32_t stated : {1u, 7u, 100u, 65535u, (64u << kind.shift) + 8}) {
      Bytes other = good;
      for (size_t i = 0; i < 4; ++i) other[8 + i] = static_cast<uint8_t>(stated >> (24 - 8 * i));
      ASSERT_NO_FATAL_FAILURE(expect_between_good_chunks(other, kind, kernels::kBlockUnsupported)) << stated;
    }
  }
}

TEST(BlockFaults, BlocksBeyondTheMemoryAreRefusedUnlessTheFrameIsSmaller) {
  std::mt19937 random(5);
  for (const uint32_t pixels : {4095u, 4096u, 4097u, 9000u}) {
    Bytes elements = random_bytes(size_t{pixels} * 2, random);
    const std::vector<Bytes> chunks = {make_chunk(elements, 1, 16384, 16384, Compressor::kDefault),
                                       make_chunk(elements, 1, 8192, 8192, Compressor::kDefault)};
    const std::vector<Frame> got = decode_in_chain<2>(chunks, pixels, kU16);
    ASSERT_NO_FATAL_FAILURE(expect_as_serially(got, chunks, pixels, kU16));
    EXPECT_EQ(got[0].report.status, pixels > 4096 ? kernels::kBlockUnsupported : kernels::kGood) << pixels;
  }
}

TEST(BlockFaults, ChunksCutAtEveryByteAndWithBytesTooMany) {
  for (const PixelKind& kind : {kU16, kU32}) {
    const Bytes good = good_chunk(kind, 6);
    for (size_t size = 0; size < good.size(); ++size) {
      ASSERT_NO_FATAL_FAILURE(expect_between_good_chunks(
          Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)), kind, UINT32_MAX))
          << size << " bytes";
    }
    for (const size_t surplus : {1u, 4u, 5u, 63u, 64u, 200u, 5000u}) {
      Bytes longer = good;
      longer.resize(good.size() + surplus, 0xF0);
      ASSERT_NO_FATAL_FAILURE(expect_between_good_chunks(longer, kind, kernels::kTrailingBytes)) << surplus;
    }
  }
}

TEST(BlockFaults, EveryLengthOfABlock) {
  for (const PixelKind& kind : {kU16, kU32}) {
    const Bytes good = good_chunk(kind, 7);
    for (size_t block = 0; block < 4; ++block) {
      const size_t at = length_at(block, good);
      const auto length = static_cast<uint32_t>(read_big_endian(good, at, 4));
      for (uint32_t said = 0; said < length + 300; ++said) {
        Bytes other = good;
        for (size_t i = 0; i < 4; ++i) other[at + i] = static_cast<uint8_t>(said >> (24 - 8 * i));
        ASSERT_NO_FATAL_FAILURE(expect_between_good_chunks(other, kind, UINT32_MAX))
            << "block " << block << ", " << said;
      }
      Bytes other = good;
      other[at] = 0xFF;
      ASSERT_NO_FATAL_FAILURE(expect_between_good_chunks(other, kind, kernels::kBlockPastEnd));
    }
  }
}

struct BadBlock {
  const char* name;
  uint32_t status;
  Bytes bytes;
};

// Of 128 bytes, as the blocks of uint16 here are.
std::vector<BadBlock> bad_blocks() {
  const Bytes zeros(128);
  const auto literals = [&](size_t count) { return Bytes(count); };
  std::vector<BadBlock> bad;
  const auto add = [&](const char* name, uint32_t status, const Bytes& bytes) {
    bad.push_back({name, status, bytes});
  };
  add("nothing", kernels::kBlockCutShort, {});
  add("a length that does not end", kernels::kBlockCutShort, {0xF0});
  add("a literal of two", kernels::kBlockCutShort, {0x20, 1});
  add("a match without its offset", kernels::kBlockCutShort, {0x14, 1, 1});
  add("a match length that does not end", kernels::kBlockCutShort, {0x1F, 1, 1, 0});
  Lz4Writer writer;
  writer.add_sequence(literals(1), 1, 60);
  add("nothing after a match", kernels::kBlockCutShort, writer.bytes);
  Lz4Writer empty_end = writer;
  empty_end.finish({});
  add("no last literals", kernels::kBlockCutShort, empty_end.bytes);
  writer.finish(literals(66));
  add("a byte too few", kernels::kBlockCutShort, writer.bytes);
  for (const size_t count : {129u, 140u, 1000u, 9000u, 300000u}) {
    Lz4Writer over;
    over.finish(literals(count));
    add("literals past the end", kernels::kLiteralsPastEnd, over.bytes);
  }
  Lz4Writer late;
  late.add_sequence(literals(14), 1, 105);
  late.finish(literals(10));
  add("short literals past the end", kernels::kLiteralsPastEnd, late.bytes);
  for (const uint32_t length : {123u, 130u, 400u, 100000u}) {
    Lz4Writer over;
    over.add_sequence(literals(1), 1, length);
    over.finish(literals(5));
    add("a match past the end", kernels::kMatchPastEnd, over.bytes);
  }
  Lz4Writer over;
  over.add_sequence(literals(117), 1, 4);
  over.finish(literals(7));
  add("a match that starts too late", kernels::kMatchPastEnd, over.bytes);
  Lz4Writer far;
  far.add_sequence(literals(20), 20, 20);
  far.finish(literals(88));
  Bytes offsets = far.bytes;
  offsets[22] = 21;
  add("an offset one too far", kernels::kWrongOffset, offsets);
  offsets[22] = 0;
  add("an offset of zero", kernels::kWrongOffset, offsets);
  offsets[23] = 0xFF;
  add("an offset far before the block", kernels::kWrongOffset, offsets);
  add("a match at once", kernels::kWrongOffset, {0x04, 1, 0, 0xF0, 100});
  Lz4Writer full;
  full.finish(literals(128));
  for (const size_t surplus : {1u, 2u, 3u, 17u, 100u}) {
    Bytes longer = full.bytes;
    longer.resize(longer.size() + surplus);
    add("bytes when the block is full", kernels::kBlockSurplus, longer);
  }
  return bad;
}

TEST(BlockFaults, EveryFaultOfABlockHasItsStatusInEveryBlock) {
  const Bytes good = good_chunk(kU16, 8);
  for (const BadBlock& bad : bad_blocks()) {
    SCOPED_TRACE(bad.name);
    EXPECT_EQ(decode_block_serially(bad.bytes, 128).status, bad.status);
    for (size_t block = 0; block < 3; ++block) {
      ASSERT_NO_FATAL_FAILURE(
          expect_between_good_chunks(with_block(good, block, bad.bytes), kU16, bad.status));
    }
  }
}

TEST(BlockFaults, TheFirstOfSeveralFaultsIsTold) {
  const Bytes good = good_chunk(kU16, 9);
  Bytes chunk = with_block(good, 2, {0x04, 1, 0});
  chunk = with_block(chunk, 1, {});
  chunk.resize(chunk.size() + 3);
  ASSERT_NO_FATAL_FAILURE(expect_between_good_chunks(chunk, kU16, kernels::kBlockCutShort));
}

}  // namespace
}  // namespace blocks_test
