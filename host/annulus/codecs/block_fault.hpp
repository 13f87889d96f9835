// What can be wrong with a payload of compressed blocks: HDF5 filters 32008 (bitshuffle) and 32004 (LZ4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace annulus {

enum class BlockStatus : std::uint8_t {
  kOk,
  kShortHeader,    // fewer bytes than a header has
  kOtherSize,      // the header promises `found` bytes of pixels instead of `expected`
  kBadBlockSize,   // the header's block size, `found`, is no multiple of `expected` bytes
  kBlockTooLarge,  // the header's block size, `found`, is more than `expected`, the most there can be
  kTruncated,      // the bytes end inside a block's length or before the last pixels: `found` of `expected`
  kBlockPastEnd,   // a block's length is `found`, and `expected` bytes are left
  kCorruptBlock,   // bytes that no compressor makes, or a block that does not fit `expected` bytes
  kOtherLength,    // a block of `found` bytes instead of `expected`
  kTrailingBytes   // `found` bytes are left after the last pixel
};

struct BlockFault {
  BlockStatus status = BlockStatus::kOk;
  std::size_t block = 0;       // counted from 0; left-over elements count as one more block
  std::size_t byte = 0;        // of the payload: where what is at fault begins
  std::uint64_t found = 0;     // as the status says
  std::uint64_t expected = 0;  // likewise
};

// "block 3 at byte 1234 of 5678: ...", for messages about a payload of `bytes` bytes.
std::string describe_fault(const BlockFault& fault, std::size_t bytes);

}  // namespace annulus
