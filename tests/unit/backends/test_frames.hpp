// Frames for tests of backends.
#pragma once

#include <annulus/codecs/byte_offset.hpp>
#include <annulus/codecs/encode_blocks.hpp>
#include <annulus/core/frame.hpp>

#include <cstring>
#include <random>
#include <vector>

namespace annulus::testing {

// A raw frame of any integer type from values that fit it.
inline Frame raw_frame(Shape shape, PixelType type, const std::vector<std::int64_t>& pixels) {
  Frame frame;
  frame.type = type;
  frame.shape = shape;
  frame.source = "test";
  std::vector<std::byte> bytes(pixels.size() * size_of(type));
  visit_pixel_type(type, [&](auto zero) {
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const auto pixel = static_cast<decltype(zero)>(pixels[i]);
      std::memcpy(bytes.data() + i * sizeof(pixel), &pixel, sizeof(pixel));
    }
  });
  frame.payload = Bytes(std::move(bytes));
  return frame;
}

inline std::vector<std::int64_t> random_pixels(std::mt19937_64& random, PixelType type, std::size_t count) {
  std::vector<std::int64_t> pixels(count);
  visit_pixel_type(type, [&](auto zero) {
    using Pixel = decltype(zero);
    for (std::int64_t& pixel : pixels) {
      // Mostly small counts as on a detector; now and then anything the type can hold, and marked pixels.
      const auto kind = random() % 50;
      std::int64_t value = static_cast<std::int64_t>(random() % 100);
      if (kind == 0) value = static_cast<std::int64_t>(random());
      if (kind == 1) value = -2;
      pixel = static_cast<std::int64_t>(static_cast<Pixel>(value));
    }
  });
  return pixels;
}

inline Frame byte_offset_frame(Shape shape, const std::vector<std::int64_t>& pixels) {
  const std::vector<std::int32_t> narrow(pixels.begin(), pixels.end());
  Frame frame = raw_frame(shape, PixelType::kI32, {});
  frame.codec = Codec::kByteOffset;
  frame.payload = Bytes(encode_byte_offset(narrow));
  return frame;
}

// The same pixels as a raw frame, in compressed blocks.
inline Frame block_frame(const Frame& raw, Codec codec = Codec::kBitshuffleLz4, std::size_t block_bytes = 0) {
  Frame frame = raw;
  frame.codec = codec;
  frame.payload = Bytes(encode_blocks(codec, raw.payload.view(), size_of(raw.type), block_bytes));
  return frame;
}

}  // namespace annulus::testing
