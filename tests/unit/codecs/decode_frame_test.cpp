#include <annulus/codecs/decode_frame.hpp>
#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Frame frame_of(Codec codec, PixelType type, Shape shape, std::vector<unsigned char> data) {
  Frame frame;
  frame.codec = codec;
  frame.type = type;
  frame.shape = shape;
  std::vector<std::byte> bytes(data.size());
  if (!data.empty()) std::memcpy(bytes.data(), data.data(), data.size());
  frame.payload = Bytes(std::move(bytes));
  frame.id.source = "scan.cbf";
  return frame;
}

std::string fault_of(const Frame& frame) {
  try {
    decode_frame(frame);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "no error";
}

TEST(DecodeFrame, ReadsRawPixelsOfEveryType) {
  EXPECT_THAT(decode_frame(frame_of(Codec::kRaw, PixelType::kU8, {1, 2}, {255, 1})).pixels,
              ElementsAre(255, 1));
  EXPECT_THAT(decode_frame(frame_of(Codec::kRaw, PixelType::kI8, {1, 2}, {255, 1})).pixels,
              ElementsAre(-1, 1));
  EXPECT_THAT(decode_frame(frame_of(Codec::kRaw, PixelType::kU16, {1, 1}, {0xfe, 0xff})).pixels,
              ElementsAre(65534));
  EXPECT_THAT(decode_frame(frame_of(Codec::kRaw, PixelType::kI16, {1, 1}, {0xfe, 0xff})).pixels,
              ElementsAre(-2));
  EXPECT_THAT(decode_frame(frame_of(Codec::kRaw, PixelType::kU32, {1, 1}, {0xff, 0xff, 0xff, 0xff})).pixels,
              ElementsAre(4294967295.0));
  EXPECT_THAT(decode_frame(frame_of(Codec::kRaw, PixelType::kI32, {1, 1}, {0xfe, 0xff, 0xff, 0xff})).pixels,
              ElementsAre(-2));
  EXPECT_THAT(decode_frame(frame_of(Codec::kRaw, PixelType::kF32, {1, 1}, {0, 0, 0x20, 0xc0})).pixels,
              ElementsAre(-2.5));
  EXPECT_THAT(
      decode_frame(frame_of(Codec::kRaw, PixelType::kF64, {1, 1}, {0, 0, 0, 0, 0, 0, 0x04, 0xc0})).pixels,
      ElementsAre(-2.5));
  EXPECT_THAT(decode_frame(frame_of(Codec::kRaw, PixelType::kI64, {1, 1}, {0, 0, 0, 0, 0, 1, 0, 0})).pixels,
              ElementsAre(1099511627776.0));
}

TEST(DecodeFrame, ReadsByteOffset) {
  const auto image =
      decode_frame(frame_of(Codec::kByteOffset, PixelType::kI32, {2, 2}, {1, 0xfd, 0x80, 0, 1, 0}));
  EXPECT_EQ(image.shape, (Shape{2, 2}));
  EXPECT_THAT(image.pixels, ElementsAre(1, -2, 254, 254));
}

TEST(DecodeFrame, ReadsBlocksOfEveryType) {
  // Ten elements: a block of eight, all planes as literals, and two that are left over.
  std::vector<unsigned char> bytes = {0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 8, 0, 0, 0, 9, 0x80};
  bytes.insert(bytes.end(), {0x01, 0, 0, 0, 0, 0, 0, 0x81, 7, 0xfe});
  EXPECT_THAT(decode_frame(frame_of(Codec::kBitshuffleLz4, PixelType::kU8, {2, 5}, bytes)).pixels,
              ElementsAre(129, 0, 0, 0, 0, 0, 0, 128, 7, 254));
  EXPECT_THAT(decode_frame(frame_of(Codec::kBitshuffleLz4, PixelType::kI8, {2, 5}, bytes)).pixels,
              ElementsAre(-127, 0, 0, 0, 0, 0, 0, -128, 7, -2));
  // Plain LZ4: one block as literals, one stored.
  bytes = {0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 15, 0, 0, 0, 4, 0x1b, 0, 1, 0};
  EXPECT_THAT(fault_of(frame_of(Codec::kLz4, PixelType::kU64, {1, 2}, bytes)),
              HasSubstr("scan.cbf: block 0 at byte 12 of 20: corrupt, it does not decode to 15 bytes"));
  bytes = {0,    0, 0, 0, 0,    0, 0, 16, 0, 0, 0, 15, 0, 0, 0, 10,
           0x15, 1, 1, 0, 0x50, 0, 0, 0,  0, 2, 0, 0,  0, 1, 3};
  EXPECT_THAT(decode_frame(frame_of(Codec::kLz4, PixelType::kU64, {1, 2}, bytes)).pixels,
              ElementsAre(static_cast<double>(0x0101010101010101), static_cast<double>(0x0302000000000101)));
}

TEST(DecodeFrame, AppliesFractionBits) {
  auto frame = frame_of(Codec::kRaw, PixelType::kI32, {1, 2}, {3, 0, 0, 0, 0xff, 0xff, 0xff, 0xff});
  frame.fraction_bits = 2;
  EXPECT_THAT(decode_frame(frame).pixels, ElementsAre(0.75, -0.25));
  frame.fraction_bits = -4;
  EXPECT_THAT(decode_frame(frame).pixels, ElementsAre(48, -16));
}

TEST(DecodeFrame, NamesFileByteAndPixelOfAFault) {
  EXPECT_THAT(fault_of(frame_of(Codec::kByteOffset, PixelType::kI32, {1, 3}, {1, 2})),
              HasSubstr("scan.cbf: truncated at byte 2 of 2: pixel 2 of 3 is missing"));
  EXPECT_THAT(fault_of(frame_of(Codec::kByteOffset, PixelType::kI32, {1, 2}, {1, 2, 3})),
              HasSubstr("1 bytes are left at byte 2 of 3 after the last of 2 pixels"));
  EXPECT_THAT(fault_of(frame_of(Codec::kByteOffset, PixelType::kI32, {1, 2},
                                {0x80, 0, 0x80, 0xff, 0xff, 0xff, 0x7f, 1})),
              HasSubstr("the value at byte 7 of 8, pixel 1 of 2, leaves the 32-bit integers"));
  EXPECT_THAT(fault_of(frame_of(Codec::kRaw, PixelType::kU16, {2, 2}, {1, 2, 3})),
              HasSubstr("3 bytes where 2 x 2 pixels of uint16 take 8"));
}

TEST(DecodeFrame, TakesNoMemoryForPixelsThatCannotBeThere) {
  EXPECT_THAT(fault_of(frame_of(Codec::kByteOffset, PixelType::kI32, {1u << 31, 1u << 31}, {1, 2})),
              HasSubstr("truncated at byte 2 of 2"));
  EXPECT_THAT(fault_of(frame_of(Codec::kBitshuffleLz4, PixelType::kU32, {1u << 31, 1u << 31}, {1, 2})),
              HasSubstr("2 bytes, fewer than the 12 of a header"));
  EXPECT_THAT(fault_of(frame_of(Codec::kRaw, PixelType::kI8, {1u << 31, 1u << 31}, {1, 2})),
              HasSubstr("2 bytes"));
}

}  // namespace
}  // namespace annulus
