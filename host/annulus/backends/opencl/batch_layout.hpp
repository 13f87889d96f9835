// How the frames of a batch lie side by side in the memory that is sent to a device.
#pragma once

#include <annulus/backends/opencl/session.hpp>
#include <annulus/core/frame.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace annulus::opencl {

// As in kernels/common.cl, kernels/byte_offset.cl and kernels/blocks.cl.
constexpr std::uint64_t kStates = 15;
constexpr std::uint64_t kFrameNumbers = 5;
constexpr std::uint64_t kBlockNumbers = 5;

constexpr std::uint64_t kAlignment = 64;  // of payloads
constexpr std::uint64_t kPadding = 64;    // bytes that may be read after the last

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

struct BatchLayout {
  Codec codec = Codec::kRaw;
  PixelType type = PixelType::kI32;
  cl_uint frames = 0;
  std::vector<cl_ulong> numbers;  // kFrameNumbers a frame
  std::uint64_t packed_bytes = 0;
  std::vector<cl_ulong> blocks;       // kBlockNumbers a block
  std::uint64_t pieces = 0;           // segments of all frames
  cl_uint most_pieces = 0;            // of one frame
  std::uint64_t unpacked_stride = 0;  // bytes from one unpacked frame to the next
};

// Of frames of one codec. Throws kBackend if the blocks of one do not fit each other, which was looked at
// before.
BatchLayout lay_out(const Session& session, std::span<const Frame* const> frames);

}  // namespace annulus::opencl
