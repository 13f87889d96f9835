#include <annulus/codecs/decode_frame.hpp>
#include <annulus/cpu/band_decoder.hpp>

#include <fmt/format.h>

#include <cstring>
#include <type_traits>

namespace annulus {

BandDecoder::BandDecoder(const Frame& frame, InstructionSet set)
    : frame_(frame), byte_offset_(frame.payload.view(), set) {
  if (frame.codec != Codec::kRaw) return;
  const std::size_t expected = frame.shape.size() * size_of(frame.type);
  if (frame.payload.size() != expected) {
    fault_ = describe_size_fault(frame.payload.size(), expected);
  }
}

bool BandDecoder::next(std::span<std::int32_t> band) {
  if (!fault_.empty()) return false;
  if (frame_.codec == Codec::kByteOffset) return accept(byte_offset_.decode(band));
  visit_pixel_type(frame_.type, [&](auto zero) {
    using Pixel = decltype(zero);
    if constexpr (std::is_integral_v<Pixel> && sizeof(Pixel) <= 4) {
      const std::byte* bytes = frame_.payload.data() + pixel_ * sizeof(Pixel);
      for (std::size_t i = 0; i < band.size(); ++i) {
        Pixel pixel;
        std::memcpy(&pixel, bytes + i * sizeof(Pixel), sizeof(Pixel));
        band[i] = static_cast<std::int32_t>(pixel);
      }
    } else {
      fault_ = fmt::format("pixels of type {} must be quantised first", name_of(frame_.type));
    }
  });
  pixel_ += band.size();
  return fault_.empty();
}

bool BandDecoder::finish() {
  if (!fault_.empty()) return false;
  return frame_.codec != Codec::kByteOffset || accept(byte_offset_.finish());
}

bool BandDecoder::accept(DecodeStatus status) {
  if (status == DecodeStatus::kOk) return true;
  fault_ = describe_fault(status, byte_offset_.byte_position(), frame_.payload.size(),
                          byte_offset_.pixel_position(), frame_.shape.size());
  return false;
}

}  // namespace annulus
