// A payload of compressed blocks as a stream of pixels, for backends and for whole frames.
#pragma once

#include <annulus/codecs/bit_planes.hpp>
#include <annulus/codecs/block_decoder.hpp>
#include <annulus/core/image.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace annulus {

// Resumable, like ByteOffsetDecoder. It holds one decompressed block, and pixels are put together from it
// when they are asked for: no decoded frame is written to memory.
class BlockPixelDecoder {
 public:
  // Of integers of at most 32 bits.
  BlockPixelDecoder(const Frame& frame, InstructionSet set = best_instruction_set());

  // Fills `pixels` with int32; those of uint32 are the same 32 bits. False if there is a fault; the pixels
  // are then unspecified.
  bool decode(std::span<std::int32_t> pixels);

  // After the last pixel: false if bytes are left.
  bool finish();

  const BlockFault& fault() const { return blocks_.fault(); }

 private:
  std::size_t from_planes(std::span<std::int32_t> pixels);
  std::size_t from_elements(std::span<std::int32_t> pixels);

  PixelType type_;
  std::size_t element_size_;
  GatherPixels gather_;
  BlockDecoder blocks_;
  std::size_t at_ = 0;                // bytes of the block that were used
  std::array<std::byte, 4> split_{};  // a pixel of plain LZ4 that began in the block before
  std::size_t split_size_ = 0;
};

// All elements at once, as bytes: for types that backends do not decode. Throws kInput; `where` names the
// frame.
std::vector<std::byte> decode_blocks(Codec codec, std::span<const std::byte> payload,
                                     std::size_t element_size, std::size_t elements,
                                     const std::string& where);

// A frame of blocks as a raw one; others pass unchanged.
Frame decode_blocks(const Frame& frame);

}  // namespace annulus
