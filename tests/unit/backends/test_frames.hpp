// Frames for tests of backends.
#pragma once

#include <annulus/codecs/byte_offset.hpp>
#include <annulus/codecs/encode_blocks.hpp>
#include <annulus/core/frame.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace annulus::testing {

// A raw frame of any integer type from values that fit it.
inline Frame raw_frame(Shape shape, PixelType type, const std::vector<std::int64_t>& pixels) {
  Frame frame;
  frame.type = type;
  frame.shape = shape;
  frame.id.source = "test";
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

// `good`, which is byte offset of 50 x 70 or so, damaged in `count` ways, and frames that are not what a plan
// for it expects; `good` is the first and the last.
inline std::vector<Frame> damaged_frames(std::mt19937_64& random, const Frame& good, int count) {
  std::vector<Frame> frames = {good};
  for (int i = 0; i < count; ++i) {
    std::vector<std::byte> bytes(good.payload.view().begin(), good.payload.view().end());
    switch (random() % 5) {
      case 0:
        bytes.resize(random() % bytes.size());
        break;
      case 1:
        bytes.resize(bytes.size() + 1 + random() % 100, static_cast<std::byte>(random() % 2 * 0x80));
        break;
      case 2:
        bytes[random() % bytes.size()] = std::byte{0x80};
        break;
      case 3:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(random() % (bytes.size() - 100)), 100,
                    std::byte{0x80});
        break;
      default:
        for (int k = 0; k < 15; ++k) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    frames.push_back(good);
    frames.back().payload = Bytes(std::move(bytes));
  }
  frames.push_back(good);
  std::swap(frames.back().shape.rows, frames.back().shape.cols);
  const std::vector<std::int64_t> ones(good.shape.size(), 1);
  frames.push_back(raw_frame(good.shape, PixelType::kI32, ones));
  frames.back().payload = frames.back().payload.slice(0, 101);
  frames.push_back(raw_frame(good.shape, PixelType::kU16, ones));
  frames.push_back(good);
  frames.back().payload = Bytes(std::vector<std::byte>());
  frames.push_back(good);
  frames.back().payload = Bytes(std::vector<std::byte>(20 * good.shape.size(), std::byte{1}));
  frames.push_back(good);
  return frames;
}

}  // namespace annulus::testing
