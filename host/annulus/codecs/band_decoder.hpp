// A frame as a stream of pixels, a band at a time, so that no decoded frame is ever written to memory.
#pragma once

#include <annulus/codecs/block_pixels.hpp>
#include <annulus/codecs/byte_offset.hpp>
#include <annulus/core/frame.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace annulus {

// Pixels come out as int32; those of a uint32 frame as the same 32 bits.
class BandDecoder {
 public:
  BandDecoder(const Frame& frame, InstructionSet set);

  // The next pixels of the frame. False if there is a fault; then fault() says which.
  bool next(std::span<std::int32_t> band);

  // After the last pixel: false if the payload does not end there.
  bool finish();

  const std::string& fault() const { return fault_; }

 private:
  bool accept(DecodeStatus status);
  bool accept(bool good);

  const Frame& frame_;
  ByteOffsetDecoder byte_offset_;
  std::optional<BlockPixelDecoder> blocks_;
  std::size_t pixel_ = 0;
  std::string fault_;
};

}  // namespace annulus
