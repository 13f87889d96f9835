#include <annulus/backends/fpga/pack_frames.hpp>
#include <annulus/codecs/block_decoder.hpp>

#include <fmt/core.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

namespace annulus {
namespace {

// The first of `count` numbers in a row. They begin anywhere, because a card's memory may still have results
// of the process before.
std::uint32_t take_numbers(std::size_t count) {
  static std::atomic<std::uint32_t> next = std::random_device()();
  return next.fetch_add(static_cast<std::uint32_t>(count));
}

}  // namespace

std::string kernel_name(Codec codec) {
  return codec == Codec::kByteOffset      ? "reduce_byte_offset"
         : codec == Codec::kBitshuffleLz4 ? "reduce_bslz4"
                                          : "reduce_raw";
}

bool has_kernel_blocks(const Frame& frame) {
  if (frame.codec != Codec::kBitshuffleLz4) return false;
  BlockFault fault;
  const std::size_t bytes =
      read_block_header(frame.codec, frame.payload.view(), size_of(frame.type), frame.shape.size(), fault);
  return bytes <= kernels::kBlockBytes;
}

std::string packing_fault(const Frame& frame) {
  if (frame.payload.size() <= std::numeric_limits<std::uint32_t>::max()) return {};
  return fmt::format("its {} bytes are more than a kernel can address", frame.payload.size());
}

std::vector<kernels::FrameDescriptor> describe_payloads(std::span<const Frame* const> frames) {
  std::vector<kernels::FrameDescriptor> descriptors;
  std::uint32_t beats = 0;
  std::uint32_t number = take_numbers(frames.size());
  for (const Frame* frame : frames) {
    const auto bytes = static_cast<std::uint32_t>(frame->payload.size());
    descriptors.push_back({beats, bytes, one_count(*frame), number++});
    beats += kernels::beats_of(bytes);
  }
  return descriptors;
}

std::size_t payload_beats(std::span<const kernels::FrameDescriptor> descriptors) {
  if (descriptors.empty()) return 0;
  return std::size_t{descriptors.back().first_beat} + kernels::beats_of(descriptors.back().bytes);
}

void copy_payloads(std::span<const Frame* const> frames,
                   std::span<const kernels::FrameDescriptor> descriptors, kernels::Beat* payloads) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Bytes& payload = frames[i]->payload;
    if (!payload.empty()) std::memcpy(payloads + descriptors[i].first_beat, payload.data(), payload.size());
  }
}

PackedFrames pack_frames(std::span<const Frame* const> frames) {
  PackedFrames packed;
  packed.descriptors = describe_payloads(frames);
  packed.payloads.resize(payload_beats(packed.descriptors));
  copy_payloads(frames, packed.descriptors, packed.payloads.data());
  return packed;
}

RawPixels raw_pixels(PixelType type) {
  return visit_pixel_type(type, [](auto zero) {
    using Pixel = decltype(zero);
    return RawPixels{static_cast<std::uint32_t>(std::countr_zero(sizeof(Pixel))),
                     std::is_signed_v<Pixel> ? 1u : 0u};
  });
}

}  // namespace annulus
