// Where the blocks of a frame are: what the device needs to unpack them all at once.
#pragma once

#include <annulus/core/frame.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace annulus::opencl {

struct PackedBlock {
  std::uint64_t offset;  // in the payload
  std::uint64_t bytes;
  std::uint64_t place;  // in the unpacked frame
  std::uint64_t size;
  bool stored;  // as it is
};

struct BlockTable {
  std::uint64_t block_elements = 1;  // pixels of a full block
  std::vector<PackedBlock> blocks;
};

// Of Codec::kBitshuffleLz4 and Codec::kLz4; none if lengths and sizes do not fit each other.
std::optional<BlockTable> find_blocks(const Frame& frame);

}  // namespace annulus::opencl
