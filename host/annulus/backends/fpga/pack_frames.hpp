// Frames as the kernels read them: payloads as they are, and a list of where each lies.
#pragma once

#include <annulus/core/frame.hpp>

#include <hls/layout.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace annulus {

// What kernels take; frames of other codecs are decoded to kRaw first.
constexpr Codec kKernelCodecs[] = {Codec::kByteOffset, Codec::kBitshuffleLz4, Codec::kRaw};

// The kernel that reduces frames of a codec.
std::string kernel_name(Codec codec);

// Whether reduce_bslz4 takes the frame. Other codecs of blocks, and blocks beyond kBlockBytes, are for the
// host.
bool has_kernel_blocks(const Frame& frame);

// An empty string if a launch can take the frame; it must fit its plan besides.
std::string packing_fault(const Frame& frame);

// Where each payload will lie, one after the other, and how many beats they take together. Every frame gets a
// number that no frame of a launch before had, also when it is launched again.
std::vector<kernels::FrameDescriptor> describe_payloads(std::span<const Frame* const> frames);
std::size_t payload_beats(std::span<const kernels::FrameDescriptor> descriptors);

// Copies the payloads there.
void copy_payloads(std::span<const Frame* const> frames,
                   std::span<const kernels::FrameDescriptor> descriptors, kernels::Beat* payloads);

// Both, in memory of the host.
struct PackedFrames {
  std::vector<kernels::FrameDescriptor> descriptors;
  std::vector<kernels::Beat> payloads;
};
PackedFrames pack_frames(std::span<const Frame* const> frames);

// What reduce_raw and reduce_bslz4 are told about the pixels.
struct RawPixels {
  std::uint32_t shift = 0;  // log2 of the bytes of a pixel
  std::uint32_t is_signed = 0;
};
RawPixels raw_pixels(PixelType type);

}  // namespace annulus
