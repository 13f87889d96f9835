#include <annulus/codecs/block_pixels.hpp>
#include <annulus/codecs/widen.hpp>
#include <annulus/core/error.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace annulus {

BlockPixelDecoder::BlockPixelDecoder(const Frame& frame, InstructionSet set)
    : type_(frame.type),
      element_size_(size_of(frame.type)),
      gather_(pixel_gatherer(element_size_, set)),
      blocks_(frame.codec, frame.payload.view(), element_size_, frame.shape.size()) {}

bool BlockPixelDecoder::decode(std::span<std::int32_t> pixels) {
  while (!pixels.empty()) {
    if (at_ == blocks_.block().size) {
      if (!blocks_.next()) return false;
      at_ = 0;
    }
    pixels = pixels.subspan(blocks_.block().planes ? from_planes(pixels) : from_elements(pixels));
  }
  return true;
}

bool BlockPixelDecoder::finish() {
  blocks_.finish();
  return fault().status == BlockStatus::kOk;
}

// Pixels of this block, as many as there are and are wanted; their number.
std::size_t BlockPixelDecoder::from_planes(std::span<std::int32_t> pixels) {
  const BlockDecoder::Block& block = blocks_.block();
  const std::size_t elements = block.size / element_size_;
  const std::size_t first = at_ / element_size_;
  const std::size_t count = std::min(pixels.size(), elements - first);
  const std::byte* const planes = block.bytes + first / 8;
  std::size_t done = count;
  if (first % 8 == 0 && count >= 8) {
    done -= count % 8;
    gather_(planes, elements / 8, done / 8, reinterpret_cast<std::uint32_t*>(pixels.data()));
  } else {
    std::uint32_t group[8];
    gather_(planes, elements / 8, 1, group);
    done = std::min(count, 8 - first % 8);
    std::memcpy(pixels.data(), group + first % 8, done * sizeof(std::int32_t));
  }
  extend_signs(type_, pixels.first(done));
  at_ += done * element_size_;
  return done;
}

std::size_t BlockPixelDecoder::from_elements(std::span<std::int32_t> pixels) {
  const BlockDecoder::Block& block = blocks_.block();
  const std::size_t left = block.size - at_;
  if (split_size_ > 0 || left < element_size_) {
    const std::size_t taken = std::min(left, element_size_ - split_size_);
    std::memcpy(split_.data() + split_size_, block.bytes + at_, taken);
    at_ += taken;
    split_size_ += taken;
    if (split_size_ < element_size_) return 0;
    split_size_ = 0;
    widen_pixels(type_, split_.data(), pixels.first(1));
    return 1;
  }
  const std::size_t count = std::min(pixels.size(), left / element_size_);
  widen_pixels(type_, block.bytes + at_, pixels.first(count));
  at_ += count * element_size_;
  return count;
}

std::vector<std::byte> decode_blocks(Codec codec, std::span<const std::byte> payload,
                                     std::size_t element_size, std::size_t elements,
                                     const std::string& where) {
  BlockDecoder decoder(codec, payload, element_size, elements);
  std::vector<std::byte> pixels;  // grows with what is found, not with what the header says
  while (decoder.next()) {
    const BlockDecoder::Block& block = decoder.block();
    const std::size_t before = pixels.size();
    pixels.resize(before + block.size);
    if (block.planes) {
      gather_elements(block.bytes, element_size, block.size / element_size, pixels.data() + before);
    } else {
      std::memcpy(pixels.data() + before, block.bytes, block.size);
    }
  }
  decoder.finish();
  if (decoder.fault().status != BlockStatus::kOk) {
    throw Error(ErrorKind::kInput, where, describe_fault(decoder.fault(), payload.size()),
                "the file is damaged: copy it again");
  }
  return pixels;
}

Frame decode_blocks(const Frame& frame) {
  if (!has_blocks(frame.codec)) return frame;
  Frame raw = frame;
  raw.codec = Codec::kRaw;
  raw.payload = Bytes(decode_blocks(frame.codec, frame.payload.view(), size_of(frame.type),
                                    frame.shape.size(), describe(frame)));
  return raw;
}

}  // namespace annulus
