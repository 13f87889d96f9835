// Writes what block_decoder.hpp reads: for simulated files and tests.
#pragma once

#include <annulus/core/frame.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace annulus {

// block_bytes: 0 for the default of the filter (8 KiB with bitshuffle, the whole frame with LZ4), else for
// bitshuffle a multiple of 8 elements. Throws kUsage for a size that cannot be.
std::vector<std::byte> encode_blocks(Codec codec, std::span<const std::byte> pixels, std::size_t element_size,
                                     std::size_t block_bytes = 0);

inline std::vector<std::byte> encode_bitshuffle_lz4(std::span<const std::byte> pixels,
                                                    std::size_t element_size, std::size_t block_bytes = 0) {
  return encode_blocks(Codec::kBitshuffleLz4, pixels, element_size, block_bytes);
}

}  // namespace annulus
