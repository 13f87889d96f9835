#include <annulus/codecs/block_pixels.hpp>
#include <annulus/codecs/decode_frame.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

namespace annulus {
namespace {

std::vector<double> decode_raw(const Frame& frame, double scale) {
  const std::size_t expected = frame.shape.size() * size_of(frame.type);
  if (frame.payload.size() != expected) {
    throw Error(ErrorKind::kInput, describe(frame),
                fmt::format("{} bytes where {} pixels of {} take {}", frame.payload.size(),
                            to_string(frame.shape), name_of(frame.type), expected),
                "the file is damaged or incomplete: copy it again");
  }
  std::vector<double> pixels(frame.shape.size());
  visit_pixel_type(frame.type, [&](auto zero) {
    using Pixel = decltype(zero);
    const std::byte* at = frame.payload.data();
    for (double& pixel : pixels) {
      Pixel raw;  // payloads need not be aligned
      std::memcpy(&raw, at, sizeof(Pixel));
      pixel = static_cast<double>(raw) * scale;
      at += sizeof(Pixel);
    }
  });
  return pixels;
}

std::vector<std::int32_t> decode_byte_offset(const Frame& frame) {
  // A code has at least one byte, so more pixels than bytes are never filled: a shape that claims too many
  // takes no memory before it is found out.
  const std::size_t pixels = frame.shape.size();
  std::vector<std::int32_t> values(std::min(pixels, frame.payload.size() + 1));
  ByteOffsetDecoder decoder(frame.payload.view());
  DecodeStatus status = decoder.decode(values);
  if (status == DecodeStatus::kOk) status = decoder.finish();
  if (status != DecodeStatus::kOk) {
    throw Error(ErrorKind::kInput, describe(frame),
                describe_fault(status, decoder.byte_position(), frame.payload.size(),
                               decoder.pixel_position(), pixels),
                "the file is damaged: copy it again");
  }
  return values;
}

}  // namespace

Image<double> decode_frame(const Frame& frame) {
  const double scale = std::ldexp(1.0, -frame.fraction_bits);
  if (frame.codec != Codec::kByteOffset) return {frame.shape, decode_raw(decode_blocks(frame), scale)};
  const std::vector<std::int32_t> values = decode_byte_offset(frame);
  std::vector<double> pixels(values.begin(), values.end());
  if (frame.fraction_bits != 0) {
    for (double& pixel : pixels) pixel *= scale;
  }
  return {frame.shape, std::move(pixels)};
}

std::string describe_fault(DecodeStatus status, std::size_t byte, std::size_t bytes, std::size_t pixel,
                           std::size_t pixels) {
  switch (status) {
    case DecodeStatus::kOk:
      return "no fault";
    case DecodeStatus::kTruncated:
      return fmt::format("truncated at byte {} of {}: pixel {} of {} is missing", byte, bytes, pixel, pixels);
    case DecodeStatus::kTrailingBytes:
      return fmt::format("{} bytes are left at byte {} of {} after the last of {} pixels", bytes - byte, byte,
                         bytes, pixels);
    case DecodeStatus::kValueOutOfRange:
      break;
  }
  return fmt::format("the value at byte {} of {}, pixel {} of {}, leaves the 32-bit integers", byte, bytes,
                     pixel, pixels);
}

std::string describe_size_fault(std::size_t bytes, std::size_t expected) {
  return fmt::format("{} bytes of pixels, {} expected", bytes, expected);
}

}  // namespace annulus
