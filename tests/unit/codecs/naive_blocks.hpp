// Bitshuffle and LZ4 bit by bit, as their formats are described: no part of the code under test.
#pragma once

#include <annulus/core/frame.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace annulus::testing {

inline constexpr Codec kBlockCodecs[] = {Codec::kBitshuffleLz4, Codec::kBitshuffleZstd, Codec::kLz4};

inline std::vector<std::byte> naive_shuffle(std::span<const std::byte> elements, std::size_t element_size) {
  const std::size_t count = elements.size() / element_size;
  std::vector<std::byte> planes(elements.size());
  for (std::size_t element = 0; element < count; ++element) {
    for (std::size_t bit = 0; bit < 8 * element_size; ++bit) {
      const unsigned value =
          std::to_integer<unsigned>(elements[element * element_size + bit / 8]) >> (bit % 8) & 1;
      planes[bit * (count / 8) + element / 8] |= static_cast<std::byte>(value << (element % 8));
    }
  }
  return planes;
}

inline void put_big_endian(std::vector<std::byte>& bytes, std::uint64_t value, int size) {
  for (int i = size - 1; i >= 0; --i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

// An LZ4 block of literals only.
inline std::vector<std::byte> naive_lz4(std::span<const std::byte> block) {
  std::vector<std::byte> packed;
  std::size_t left = block.size();
  packed.push_back(static_cast<std::byte>(std::min<std::size_t>(left, 15) << 4));
  if (left >= 15) {
    for (left -= 15; left >= 255; left -= 255) packed.push_back(std::byte{255});
    packed.push_back(static_cast<std::byte>(left));
  }
  packed.insert(packed.end(), block.begin(), block.end());
  return packed;
}

// `stated` is the block size in the header, `block_bytes` that of the blocks.
inline std::vector<std::byte> naive_bitshuffle_lz4(std::span<const std::byte> pixels,
                                                   std::size_t element_size, std::size_t block_bytes,
                                                   std::size_t stated) {
  std::vector<std::byte> bytes;
  put_big_endian(bytes, pixels.size(), 8);
  put_big_endian(bytes, stated, 4);
  while (pixels.size() >= 8 * element_size) {
    const std::size_t size = std::min(block_bytes, pixels.size() / (8 * element_size) * (8 * element_size));
    const auto packed = naive_lz4(naive_shuffle(pixels.first(size), element_size));
    put_big_endian(bytes, packed.size(), 4);
    bytes.insert(bytes.end(), packed.begin(), packed.end());
    pixels = pixels.subspan(size);
  }
  bytes.insert(bytes.end(), pixels.begin(), pixels.end());
  return bytes;
}

// Like counts: most small, some planes empty, some pixels with all bits.
inline std::vector<std::byte> random_elements(std::mt19937_64& random, std::size_t element_size,
                                              std::size_t count) {
  std::vector<std::byte> bytes(element_size * count);
  const std::uint64_t kind = random() % 4;
  const std::uint64_t bits = 1 + random() % (8 * element_size);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t value = random();
    if (kind == 0) value = 0;
    if (kind == 1) value &= ~std::uint64_t{0} >> (64 - bits);
    if (kind == 2) value = value % 50 == 0 ? ~std::uint64_t{0} : value >> 32 & 15;
    for (std::size_t byte = 0; byte < element_size; ++byte)
      bytes[i * element_size + byte] = static_cast<std::byte>(value >> (8 * byte));
  }
  return bytes;
}

}  // namespace annulus::testing
