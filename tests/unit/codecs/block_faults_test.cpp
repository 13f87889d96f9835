#include <annulus/codecs/block_pixels.hpp>
#include <annulus/codecs/encode_blocks.hpp>
#include <annulus/core/buffer_pool.hpp>
#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>

#include "naive_blocks.hpp"

namespace annulus::testing {
namespace {

using ::testing::HasSubstr;

// Memory of exactly these bytes, so that AddressSanitizer sees one read too many.
struct Tight {
  explicit Tight(std::span<const std::byte> from) : size(from.size()), bytes(new std::byte[from.size()]) {
    if (!from.empty()) std::memcpy(bytes.get(), from.data(), from.size());
  }
  std::span<const std::byte> view() const { return {bytes.get(), size}; }

  std::size_t size;
  std::unique_ptr<std::byte[]> bytes;
};

// Decodes in bands into memory that is as tight; the fault, or kOk.
BlockFault decode_all(Codec codec, PixelType type, std::size_t pixels, std::span<const std::byte> payload,
                      InstructionSet set = best_instruction_set()) {
  const Tight tight(payload);
  Frame frame;
  frame.codec = codec;
  frame.type = type;
  frame.shape = {1, static_cast<std::uint32_t>(pixels)};
  frame.payload = Bytes(nullptr, tight.view());
  BlockPixelDecoder decoder(frame, set);
  for (std::size_t done = 0; done < pixels;) {
    const std::size_t count = std::min<std::size_t>(256, pixels - done);
    const auto band = std::make_unique<std::int32_t[]>(count);
    if (!decoder.decode({band.get(), count})) break;
    done += count;
  }
  decoder.finish();
  return decoder.fault();
}

std::vector<std::byte> sample(Codec codec, std::size_t element_size, std::size_t pixels, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(pixels * element_size);
  for (std::size_t i = 0; i < pixels; ++i) bytes[i * element_size] = static_cast<std::byte>(random() % 9);
  return encode_blocks(codec, bytes, element_size, 64 * element_size);
}

void set_big_endian(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * (size - 1 - i)));
}

TEST(BlockFaults, EachHasItsNameItsBlockAndItsByte) {
  constexpr std::size_t kPixels = 203;  // 64, 64, 64, 8 and 3 left over
  const auto good = sample(Codec::kBitshuffleLz4, 2, kPixels, 1);
  const auto fault_of = [&](const std::vector<std::byte>& payload) {
    const BlockFault fault = decode_all(Codec::kBitshuffleLz4, PixelType::kU16, kPixels, payload);
    return describe_fault(fault, payload.size());
  };
  const auto length_at = [&](std::size_t at) { return std::to_integer<std::size_t>(good[at + 3]); };
  const std::size_t second = 12 + 4 + length_at(12);
  const std::size_t third = second + 4 + length_at(second);
  const std::string size = std::to_string(good.size());
  EXPECT_EQ(fault_of(good), "no fault");

  EXPECT_EQ(fault_of({}), "0 bytes, fewer than the 12 of a header");
  EXPECT_EQ(fault_of({good.begin(), good.begin() + 11}), "11 bytes, fewer than the 12 of a header");
  auto bad = good;
  set_big_endian(bad, 0, 408, 8);
  EXPECT_EQ(fault_of(bad), "its header at byte 0 says 408 bytes of pixels, 406 expected");
  set_big_endian(bad, 0, 407, 8);
  EXPECT_EQ(fault_of(bad), "its header at byte 0 says 407 bytes of pixels, 406 expected");
  bad = good;
  set_big_endian(bad, 8, 130, 4);
  EXPECT_EQ(fault_of(bad), "its header at byte 8 says blocks of 130 bytes, which is not a multiple of 16");
  bad = good;
  set_big_endian(bad, second, 5000, 4);
  EXPECT_EQ(fault_of(bad), "block 1 at byte " + std::to_string(second) + " of " + size +
                               ": its length is 5000 bytes, " + std::to_string(good.size() - second - 4) +
                               " are left");
  bad = good;
  bad[second + 4] = std::byte{0xff};  // more literals than there are
  bad[second + 5] = std::byte{0xff};
  EXPECT_EQ(fault_of(bad), "block 1 at byte " + std::to_string(second) + " of " + size +
                               ": corrupt, it does not decode to 128 bytes");
  bad.assign(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(third + 3));
  EXPECT_EQ(fault_of(bad), "block 2 at byte " + std::to_string(third) + " of " + std::to_string(third + 3) +
                               ": truncated, 3 of 4 bytes are there");
  bad.assign(good.begin(), good.end() - 1);
  EXPECT_EQ(fault_of(bad), "block 4 at byte " + std::to_string(good.size() - 6) + " of " +
                               std::to_string(good.size() - 1) + ": truncated, 5 of 6 bytes are there");
  bad = good;
  bad.push_back(std::byte{0});
  EXPECT_EQ(fault_of(bad), "1 bytes are left at byte " + size + " of " + std::to_string(good.size() + 1) +
                               " after the last of 5 blocks");

  // A block of literals that is too short, and one that is empty.
  const std::vector<std::byte> short_block = naive_lz4(std::vector<std::byte>(100));
  bad.assign(good.begin(), good.begin() + 12);
  put_big_endian(bad, short_block.size(), 4);
  bad.insert(bad.end(), short_block.begin(), short_block.end());
  EXPECT_EQ(fault_of(bad),
            "block 0 at byte 12 of " + std::to_string(bad.size()) + ": decodes to 100 bytes, 128 expected");
  bad.assign(good.begin(), good.begin() + 12);
  put_big_endian(bad, 0, 4);
  EXPECT_EQ(fault_of(bad), "block 0 at byte 12 of 16: corrupt, it does not decode to 128 bytes");
}

TEST(BlockFaults, MatchesBeforeTheBlockAndPastItsEndAreCorrupt) {
  // 16 pixels of u32, one block of 64 bytes. Token 1 literal, match of 4: offset 2 reaches before the block.
  const auto fault_of = [](std::initializer_list<int> block) {
    std::vector<std::byte> payload;
    put_big_endian(payload, 64, 8);
    put_big_endian(payload, 64, 4);
    put_big_endian(payload, block.size(), 4);
    for (const int byte : block) payload.push_back(static_cast<std::byte>(byte));
    return decode_all(Codec::kBitshuffleLz4, PixelType::kU32, 16, payload).status;
  };
  EXPECT_EQ(fault_of({0x1f, 7, 1, 0, 39, 0x50, 1, 2, 3, 4, 5}), BlockStatus::kOk);
  EXPECT_EQ(fault_of({0x1f, 7, 2, 0, 39, 0x50, 1, 2, 3, 4, 5}), BlockStatus::kCorruptBlock);
  EXPECT_EQ(fault_of({0x1f, 7, 0, 0, 39, 0x50, 1, 2, 3, 4, 5}), BlockStatus::kCorruptBlock);
  EXPECT_EQ(fault_of({0x1f, 7, 0, 1, 39, 0x50, 1, 2, 3, 4, 5}), BlockStatus::kCorruptBlock);
  EXPECT_EQ(fault_of({0x1f, 7, 1, 0, 40, 0x50, 1, 2, 3, 4, 5}), BlockStatus::kCorruptBlock);
  EXPECT_EQ(fault_of({0x1f, 7, 1, 0, 38, 0x50, 1, 2, 3, 4, 5}), BlockStatus::kOtherLength);
  EXPECT_EQ(fault_of({0x1f, 7, 1, 0, 39, 0x50, 1, 2, 3, 4}), BlockStatus::kCorruptBlock);
}

TEST(BlockFaults, PlainLz4RefusesABlockSizeOfZeroAndStoresOnlyWhatIsAsLongAsABlock) {
  std::vector<std::byte> payload;
  put_big_endian(payload, 8, 8);
  put_big_endian(payload, 0, 4);
  payload.resize(40);
  EXPECT_EQ(decode_all(Codec::kLz4, PixelType::kU8, 8, payload).status, BlockStatus::kBadBlockSize);
  set_big_endian(payload, 8, 8, 4);
  set_big_endian(payload, 12, 8, 4);
  payload.resize(24);
  EXPECT_EQ(decode_all(Codec::kLz4, PixelType::kU8, 8, payload).status, BlockStatus::kOk);
  set_big_endian(payload, 12, 9, 4);
  payload.resize(25);
  EXPECT_EQ(decode_all(Codec::kLz4, PixelType::kU8, 8, payload).status, BlockStatus::kCorruptBlock);
  payload[16] = std::byte{0x80};  // the same as eight literals
  EXPECT_EQ(decode_all(Codec::kLz4, PixelType::kU8, 8, payload).status, BlockStatus::kOk);
}

TEST(BlockFaults, EveryTruncationIsAFault) {
  for (const Codec codec : kBlockCodecs) {
    for (const PixelType type : {PixelType::kU8, PixelType::kU16, PixelType::kU32}) {
      const auto good = sample(codec, size_of(type), 515, 2);
      for (std::size_t size = 0; size < good.size(); ++size) {
        const BlockFault fault = decode_all(codec, type, 515, std::span(good).first(size));
        ASSERT_NE(fault.status, BlockStatus::kOk) << size << " of " << good.size() << " bytes";
        ASSERT_NE(fault.status, BlockStatus::kTrailingBytes) << size << " of " << good.size() << " bytes";
        ASSERT_LE(fault.byte, size);
      }
      ASSERT_EQ(decode_all(codec, type, 515, good).status, BlockStatus::kOk);
    }
  }
}

TEST(BlockFaults, LargeBlocksOfPlainLz4AreHeldToTheirLength) {
  constexpr std::size_t kPixels = 100000;
  std::mt19937_64 random(4);
  std::vector<std::byte> pixels(4 * kPixels);
  for (std::size_t i = 0; i < kPixels; ++i) pixels[4 * i] = static_cast<std::byte>(random() % 9);
  const auto good = encode_blocks(Codec::kLz4, pixels, 4);
  const auto status_of = [&](const std::vector<std::byte>& payload) {
    return decode_all(Codec::kLz4, PixelType::kU32, kPixels, payload).status;
  };
  EXPECT_EQ(status_of(good), BlockStatus::kOk);
  for (std::size_t cut = 1; cut < good.size() - 16; cut += 997) {
    auto bad = good;
    bad.resize(good.size() - cut);
    EXPECT_EQ(status_of(bad), BlockStatus::kBlockPastEnd);
    set_big_endian(bad, 12, bad.size() - 16, 4);
    const BlockStatus status = status_of(bad);
    EXPECT_TRUE(status == BlockStatus::kCorruptBlock || status == BlockStatus::kOtherLength) << cut;
  }
  auto longer = good;
  longer.push_back(std::byte{0});
  EXPECT_EQ(status_of(longer), BlockStatus::kTrailingBytes);
  set_big_endian(longer, 12, longer.size() - 16, 4);
  EXPECT_EQ(status_of(longer), BlockStatus::kCorruptBlock);
}

TEST(BlockFaults, MutatedPayloadsNeverLeaveTheirMemory) {
  std::mt19937_64 random(3);
  for (const Codec codec : kBlockCodecs) {
    std::size_t faults = 0;
    constexpr int kRounds = 4000;
    for (int round = 0; round < kRounds; ++round) {
      const PixelType type =
          std::array{PixelType::kU8, PixelType::kI16, PixelType::kU32}[static_cast<std::size_t>(round) % 3];
      const std::size_t pixels = 300 + random() % 40;
      auto payload = sample(codec, size_of(type), pixels, random() % 20);
      for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
        const std::size_t at = round % 4 == 0 ? random() % 20 : random() % payload.size();
        payload[at] = random() % 2 == 0 ? static_cast<std::byte>(random())
                                        : payload[at] ^ static_cast<std::byte>(1 << random() % 8);
      }
      if (random() % 8 == 0) payload.resize(random() % (payload.size() + 20));
      const InstructionSet set = available_instruction_sets()[random() % available_instruction_sets().size()];
      const BlockFault fault = decode_all(codec, type, pixels, payload, set);
      faults += fault.status != BlockStatus::kOk;
      ASSERT_LE(fault.byte, payload.size());
      ASSERT_FALSE(describe_fault(fault, payload.size()).empty());
    }
    EXPECT_GT(faults, kRounds / 10);
    EXPECT_LT(faults, kRounds);
  }
}

TEST(BlockFaults, TakesNoMemoryForPixelsThatCannotBeThere) {
  for (const Codec codec : kBlockCodecs) {
    std::vector<std::byte> payload;
    put_big_endian(payload, std::uint64_t{1} << 60, 8);
    put_big_endian(payload, 0x7e000000, 4);
    put_big_endian(payload, 4, 4);
    payload.resize(20);
    frame_memory().free_idle();
    const auto buffers = frame_memory().statistics().fresh;
    try {
      decode_blocks(codec, payload, 4, std::size_t{1} << 58, "data.h5");
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr("data.h5: block 0 at byte 12 of 20: corrupt"));
    }
    EXPECT_LE(frame_memory().statistics().fresh - buffers, codec == Codec::kLz4 ? 1u : 0u);  // a window
    // A number of bytes that does not fit 64 bits is not taken for a small one.
    BlockFault fault;
    read_block_header(codec, payload, 8, std::size_t{1} << 61, fault);
    EXPECT_EQ(fault.status, BlockStatus::kOtherSize);
    set_big_endian(payload, 8, 0x7e000020, 4);
    fault = {};
    read_block_header(codec, payload, 4, std::size_t{1} << 58, fault);
    EXPECT_EQ(fault.status, BlockStatus::kBlockTooLarge);
  }
}

TEST(EncodeBlocks, RefusesWhatNoReaderWouldTake) {
  const std::vector<std::byte> pixels(64);
  EXPECT_THROW(encode_blocks(Codec::kBitshuffleLz4, pixels, 4, 33), Error);
  EXPECT_THROW(encode_blocks(Codec::kBitshuffleLz4, pixels, 4, 16), Error);
  EXPECT_THROW(encode_blocks(Codec::kBitshuffleLz4, pixels, 3), Error);
  EXPECT_THROW(encode_blocks(Codec::kRaw, pixels, 4), Error);
}

}  // namespace
}  // namespace annulus::testing
