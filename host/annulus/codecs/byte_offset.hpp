// CBF byte offset: each pixel is the difference to the one before, in 1, 3, 7 or 15 bytes.
#pragma once

#include <annulus/codecs/short_codes.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace annulus {

enum class DecodeStatus : std::uint8_t {
  kOk,
  kTruncated,       // the bytes end inside or before a pixel
  kTrailingBytes,   // bytes are left after the last pixel
  kValueOutOfRange  // a running value leaves int32
};

// Resumable, so that a backend can decode a frame band by band into cache.
class ByteOffsetDecoder {
 public:
  ByteOffsetDecoder() = default;
  explicit ByteOffsetDecoder(std::span<const std::byte> bytes, InstructionSet set = best_instruction_set())
      : bytes_(bytes), short_codes_(short_codes_decoder(set)) {}

  // Fills `pixels`. After a status other than kOk the decoder stays where the fault is and the pixels
  // from the faulty one on are unspecified.
  DecodeStatus decode(std::span<std::int32_t> pixels);

  // kOk if all bytes are consumed. Writers pad with zero bytes only outside the payload.
  DecodeStatus finish() const;

  std::size_t byte_position() const { return position_; }  // of the next code, or of the faulty one
  std::size_t pixel_position() const { return decoded_; }  // pixels decoded so far

 private:
  std::span<const std::byte> bytes_;
  DecodeShortCodes short_codes_ = short_codes_decoder(InstructionSet::kGeneric);
  std::size_t position_ = 0;
  std::size_t decoded_ = 0;
  std::int64_t value_ = 0;
};

// The shortest code of each difference. -128, -32768 and -2^31 announce the next length, so they take it.
std::vector<std::byte> encode_byte_offset(std::span<const std::int32_t> pixels);

// For the rare files whose pixels are not int32: the whole stream at once, values within [low, high].
// kValueOutOfRange then means that range. `byte` and `pixel` say where the fault is.
struct WideDecodeResult {
  DecodeStatus status = DecodeStatus::kOk;
  std::size_t byte = 0;
  std::size_t pixel = 0;
};
WideDecodeResult decode_byte_offset_wide(std::span<const std::byte> bytes, std::int64_t low,
                                         std::int64_t high, std::span<std::int64_t> pixels);

}  // namespace annulus
