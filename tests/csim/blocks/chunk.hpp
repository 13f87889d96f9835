// Chunks of bitshuffle-LZ4: written from their definition, and decoded one block after the other.
#pragma once

#include "../decoder/reference.hpp"
#include "lz4_block.hpp"

namespace blocks_test {

using decoder_test::Frame;

struct PixelKind {
  const char* name;
  uint32_t shift;
  bool is_signed;
};
constexpr PixelKind kKinds[] = {{"uint8", 0, false}, {"int8", 0, true},    {"uint16", 1, false},
                                {"int16", 1, true},  {"uint32", 2, false}, {"int32", 2, true}};

// Bit b of element i is bit i of plane b.
inline Bytes shuffle_bits(const Bytes& elements, uint32_t shift) {
  const size_t count = elements.size() >> shift;
  Bytes planes(elements.size());
  for (size_t bit = 0; bit < size_t{8} << shift; ++bit) {
    for (size_t i = 0; i < count; ++i) {
      const int value = elements[(i << shift) + bit / 8] >> bit % 8 & 1;
      planes[bit * (count / 8) + i / 8] |= static_cast<uint8_t>(value << i % 8);
    }
  }
  return planes;
}

inline Bytes unshuffle_bits(const Bytes& planes, uint32_t shift) {
  const size_t count = planes.size() >> shift;
  Bytes elements(planes.size());
  for (size_t i = 0; i < count; ++i) {
    for (size_t bit = 0; bit < size_t{8} << shift; ++bit) {
      const int value = planes[bit * (count / 8) + i / 8] >> i % 8 & 1;
      elements[(i << shift) + bit / 8] |= static_cast<uint8_t>(value << bit % 8);
    }
  }
  return elements;
}

inline void append_big_endian(Bytes& bytes, uint64_t number, int width) {
  for (int i = width - 1; i >= 0; --i) bytes.push_back(static_cast<uint8_t>(number >> 8 * i));
}
inline uint64_t read_big_endian(const Bytes& bytes, size_t at, int width) {
  uint64_t number = 0;
  for (int i = 0; i < width; ++i) number = number << 8 | bytes.at(at + static_cast<size_t>(i));
  return number;
}

inline int32_t pixel_at(const Bytes& elements, size_t i, const PixelKind& kind) {
  const uint32_t width = 1u << kind.shift;
  uint32_t bits = 0;
  for (uint32_t k = 0; k < width; ++k) bits |= uint32_t{elements[i * width + k]} << (8 * k);
  const uint32_t unused = 32 - 8 * width;
  return kind.is_signed ? static_cast<int32_t>(bits << unused) >> unused : static_cast<int32_t>(bits);
}

// Pixels as bytes to a chunk with blocks of `block_bytes`; the header says `stated`.
inline Bytes make_chunk(const Bytes& elements, uint32_t shift, uint32_t block_bytes, uint32_t stated,
                        Compressor compressor) {
  Bytes chunk;
  append_big_endian(chunk, elements.size(), 8);
  append_big_endian(chunk, stated, 4);
  const size_t unit = size_t{8} << shift;
  size_t at = 0;
  while (elements.size() - at >= unit) {
    const size_t size = std::min<size_t>(block_bytes, (elements.size() - at) / unit * unit);
    const Bytes block(elements.begin() + static_cast<std::ptrdiff_t>(at),
                      elements.begin() + static_cast<std::ptrdiff_t>(at + size));
    const Bytes packed = compress(shuffle_bits(block, shift), compressor);
    append_big_endian(chunk, packed.size(), 4);
    chunk.insert(chunk.end(), packed.begin(), packed.end());
    at += size;
  }
  chunk.insert(chunk.end(), elements.begin() + static_cast<std::ptrdiff_t>(at), elements.end());
  return chunk;
}

// What the kernel must give.
inline Frame decode_chunk_serially(const Bytes& chunk, uint32_t pixels, const PixelKind& kind) {
  Frame frame;
  const auto fail = [&](uint32_t status, size_t byte) {
    frame.report = {status, static_cast<uint32_t>(byte), static_cast<uint32_t>(frame.pixels.size())};
    return frame;
  };
  if (chunk.size() < 12) return fail(kernels::kTruncated, chunk.size());
  const uint64_t bytes = uint64_t{pixels} << kind.shift;
  if (read_big_endian(chunk, 0, 8) != bytes) return fail(kernels::kWrongChunkSize, 0);
  uint64_t block_bytes = read_big_endian(chunk, 8, 4);
  if (block_bytes == 0) block_bytes = 8192;
  const uint64_t unit = uint64_t{8} << kind.shift;
  if (std::min(block_bytes, bytes) > 8192 || block_bytes % unit != 0)
    return fail(kernels::kBlockUnsupported, 8);
  size_t at = 12;
  uint64_t left = bytes;
  while (left >= unit) {
    if (chunk.size() - at < 4) return fail(kernels::kTruncated, at);
    const uint64_t length = read_big_endian(chunk, at, 4);
    if (length > chunk.size() - at - 4) return fail(kernels::kBlockPastEnd, at);
    const auto size = static_cast<uint32_t>(std::min(block_bytes, left / unit * unit));
    const Bytes packed(chunk.begin() + static_cast<std::ptrdiff_t>(at + 4),
                       chunk.begin() + static_cast<std::ptrdiff_t>(at + 4 + length));
    const SerialBlock block = decode_block_serially(packed, size);
    if (block.status != kernels::kGood) return fail(block.status, at);
    const Bytes elements = unshuffle_bits(block.decoded, kind.shift);
    for (size_t i = 0; i < size >> kind.shift; ++i) frame.pixels.push_back(pixel_at(elements, i, kind));
    left -= size;
    at += 4 + length;
  }
  if (chunk.size() - at < left) return fail(kernels::kTruncated, at);
  const Bytes rest(chunk.begin() + static_cast<std::ptrdiff_t>(at), chunk.end());
  for (size_t i = 0; i < left >> kind.shift; ++i) frame.pixels.push_back(pixel_at(rest, i, kind));
  if (rest.size() > left) return fail(kernels::kTrailingBytes, at + left);
  return frame;
}

}  // namespace blocks_test
