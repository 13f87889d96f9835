#include <annulus/codecs/band_decoder.hpp>
#include <annulus/codecs/decode_frame.hpp>
#include <annulus/codecs/widen.hpp>

#include <fmt/core.h>

namespace annulus {

BandDecoder::BandDecoder(const Frame& frame, InstructionSet set) : frame_(frame) {
  if (is_float(frame.type) || size_of(frame.type) > sizeof(std::int32_t)) {
    fault_ = fmt::format("pixels of type {} must be quantised first", name_of(frame.type));
    return;
  }
  if (frame.codec == Codec::kByteOffset) {
    byte_offset_ = ByteOffsetDecoder(frame.payload.view(), set);
  } else if (has_blocks(frame.codec)) {
    blocks_.emplace(frame, set);
  } else if (const std::size_t expected = frame.shape.size() * size_of(frame.type);
             frame.payload.size() != expected) {
    fault_ = describe_size_fault(frame.payload.size(), expected);
  }
}

bool BandDecoder::next(std::span<std::int32_t> band) {
  if (!fault_.empty()) return false;
  if (blocks_) return accept(blocks_->decode(band));
  if (frame_.codec == Codec::kByteOffset) return accept(byte_offset_.decode(band));
  widen_pixels(frame_.type, frame_.payload.data() + pixel_ * size_of(frame_.type), band);
  pixel_ += band.size();
  return true;
}

bool BandDecoder::finish() {
  if (!fault_.empty()) return false;
  if (blocks_) return accept(blocks_->finish());
  return frame_.codec != Codec::kByteOffset || accept(byte_offset_.finish());
}

bool BandDecoder::accept(DecodeStatus status) {
  if (status == DecodeStatus::kOk) return true;
  fault_ = describe_fault(status, byte_offset_.byte_position(), frame_.payload.size(),
                          byte_offset_.pixel_position(), frame_.shape.size());
  return false;
}

bool BandDecoder::accept(bool good) {
  if (!good) fault_ = describe_fault(blocks_->fault(), frame_.payload.size());
  return good;
}

}  // namespace annulus
