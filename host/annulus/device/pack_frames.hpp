// Frames as the kernels read them: payloads as they are, and a list of where each lies.
#pragma once

#include <annulus/core/frame.hpp>

#include <hls/layout.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace annulus {

struct PackedFrames {
  std::vector<kernels::FrameDescriptor> descriptors;
  std::vector<kernels::Beat> payloads;
};

// An empty string if a launch can take the frame; it must fit its plan besides.
std::string packing_fault(const Frame& frame);

// Frames for one launch, all of one codec and type.
PackedFrames pack_frames(std::span<const Frame* const> frames);

// What reduce_raw is told about the pixels.
struct RawPixels {
  std::uint32_t shift = 0;  // log2 of the bytes of a pixel
  std::uint32_t is_signed = 0;
};
RawPixels raw_pixels(PixelType type);

}  // namespace annulus
