#include <annulus/codecs/block_pixels.hpp>
#include <annulus/codecs/encode_blocks.hpp>

#include <gtest/gtest.h>

#include <cstring>

#include "naive_blocks.hpp"

namespace annulus::testing {
namespace {

constexpr PixelType kTypes[] = {PixelType::kU8, PixelType::kU16, PixelType::kU32,
                                PixelType::kI8, PixelType::kI16, PixelType::kI32};

Frame frame_of(Codec codec, PixelType type, std::size_t pixels, std::vector<std::byte> payload) {
  Frame frame;
  frame.codec = codec;
  frame.type = type;
  frame.shape = {1, static_cast<std::uint32_t>(pixels)};
  frame.payload = Bytes(std::move(payload));
  frame.id.source = "data.h5";
  return frame;
}

std::vector<std::int32_t> widened(PixelType type, const std::vector<std::byte>& bytes) {
  std::vector<std::int32_t> values;
  visit_pixel_type(type, [&](auto zero) {
    using Pixel = decltype(zero);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(Pixel)) {
      Pixel pixel;
      std::memcpy(&pixel, bytes.data() + at, sizeof(Pixel));
      values.push_back(static_cast<std::int32_t>(pixel));
    }
  });
  return values;
}

// In parts of random length, or all at once.
std::vector<std::int32_t> decode(const Frame& frame, InstructionSet set, std::mt19937_64* random) {
  BlockPixelDecoder decoder(frame, set);
  std::vector<std::int32_t> pixels(frame.shape.size());
  std::span<std::int32_t> left(pixels);
  while (!left.empty()) {
    const std::size_t count =
        random ? std::min<std::size_t>(left.size(), 1 + (*random)() % 700) : left.size();
    if (!decoder.decode(left.first(count))) break;
    left = left.subspan(count);
  }
  EXPECT_TRUE(left.empty() && decoder.finish()) << describe_fault(decoder.fault(), frame.payload.size());
  return pixels;
}

TEST(BlockPixels, ReadsBitshuffleAsItsFormatSaysForEverySize) {
  std::mt19937_64 random(71);
  for (const PixelType type : kTypes) {
    const std::size_t size = size_of(type);
    for (std::size_t count = 1; count < 120; ++count) {
      const auto pixels = random_elements(random, size, count);
      const std::size_t block = 8 * size * (1 + random() % 5);
      const Frame frame =
          frame_of(Codec::kBitshuffleLz4, type, count, naive_bitshuffle_lz4(pixels, size, block, block));
      for (const InstructionSet set : available_instruction_sets()) {
        ASSERT_EQ(decode(frame, set, &random), widened(type, pixels))
            << count << " pixels of " << name_of(type) << ", blocks of " << block << ", " << name_of(set);
      }
    }
  }
}

TEST(BlockPixels, ABlockSizeOfZeroMeansEightKiB) {
  std::mt19937_64 random(72);
  for (const PixelType type : kTypes) {
    const std::size_t size = size_of(type);
    const auto pixels = random_elements(random, size, 20003);
    const Frame frame =
        frame_of(Codec::kBitshuffleLz4, type, 20003, naive_bitshuffle_lz4(pixels, size, 8192, 0));
    ASSERT_EQ(decode(frame, best_instruction_set(), nullptr), widened(type, pixels)) << name_of(type);
  }
}

TEST(BlockPixels, ReadsWhatTheEncodersWriteForAnyBlockSize) {
  std::mt19937_64 random(73);
  for (int round = 0; round < 1500; ++round) {
    const Codec codec = kBlockCodecs[round % 3];
    const PixelType type = kTypes[random() % 6];
    const std::size_t size = size_of(type);
    const std::size_t count = 1 + random() % (round % 10 == 0 ? 40000 : 500);
    const std::size_t unit = codec == Codec::kLz4 ? 1 : 8 * size;
    const std::size_t block = (random() % (65536 / unit + 1) >> random() % 8) * unit;
    const auto pixels = random_elements(random, size, count);
    const Frame frame = frame_of(codec, type, count, encode_blocks(codec, pixels, size, block));
    for (const InstructionSet set : available_instruction_sets()) {
      ASSERT_EQ(decode(frame, set, &random), widened(type, pixels))
          << "round " << round << ": " << count << " pixels of " << name_of(type) << ", blocks of " << block;
    }
    ASSERT_EQ(decode_blocks(codec, frame.payload.view(), size, count, ""), pixels) << "round " << round;
  }
}

TEST(BlockPixels, LargeBlocksOfPlainLz4ComeInPieces) {
  std::mt19937_64 random(75);
  for (const PixelType type : {PixelType::kU8, PixelType::kI16, PixelType::kU32}) {
    constexpr std::size_t kCount = 700001;
    const std::size_t size = size_of(type);
    auto pixels = random_elements(random, size, kCount);
    std::fill(pixels.begin() + 1000, pixels.begin() + 300000, std::byte{0});
    for (const std::size_t block : {std::size_t{0}, std::size_t{262145}, std::size_t{300007}}) {
      const Frame frame =
          frame_of(Codec::kLz4, type, kCount, encode_blocks(Codec::kLz4, pixels, size, block));
      ASSERT_EQ(decode(frame, best_instruction_set(), &random), widened(type, pixels))
          << name_of(type) << ", blocks of " << block;
      ASSERT_EQ(decode_blocks(Codec::kLz4, frame.payload.view(), size, kCount, ""), pixels);
    }
  }
}

TEST(BlockPixels, ElementsOfEightBytesComeOutAsTheyWere) {
  std::mt19937_64 random(74);
  for (const Codec codec : kBlockCodecs) {
    for (const std::size_t count : {1, 7, 8, 9, 1023, 1024, 5000}) {
      const auto pixels = random_elements(random, 8, count);
      ASSERT_EQ(decode_blocks(codec, encode_blocks(codec, pixels, 8), 8, count, ""), pixels) << count;
    }
  }
}

}  // namespace
}  // namespace annulus::testing
