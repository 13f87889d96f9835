// Payloads of compressed blocks: chunks of the HDF5 filters 32008 (bitshuffle with LZ4 or Zstd) and 32004
// (LZ4), a block at a time.
//
// A payload is a header (big-endian: 8 bytes the size of all pixels, 4 bytes the size of a block), then the
// blocks, each after its length in 4 big-endian bytes. Bitshuffle: a block is a multiple of 8 elements, the
// last is what is left of them, rounded down to 8; the fewer than 8 elements that are left then follow as
// they are. LZ4: a block may have any size; one whose length is its size is stored as it is.
#pragma once

#include <annulus/codecs/block_fault.hpp>
#include <annulus/codecs/lz4_stream.hpp>
#include <annulus/core/frame.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace annulus {

constexpr std::size_t kBlockHeader = 12;
constexpr std::size_t kBlockLength = 4;
constexpr std::size_t kPlaneElements = 8;  // bit planes hold them in one byte

// What one LZ4 block can hold. Blocks that are larger than the whole frame are as large as the frame.
constexpr std::size_t kLargestBlock = 0x7e000000;

// Bytes after a decoded block that may be read, so that vectors need not stop at its end.
constexpr std::size_t kBlockPadding = 64;

bool has_blocks(Codec codec);
bool is_bitshuffled(Codec codec);

// The size of a block that bitshuffle means by 0, in bytes.
std::size_t default_block_bytes(std::size_t element_size);

// The size of a block of this payload in bytes, no larger than the frame; nothing but the header is read.
// Where that is wrong, `fault` says so.
std::size_t read_block_header(Codec codec, std::span<const std::byte> payload, std::size_t element_size,
                              std::size_t elements, BlockFault& fault);

class BlockDecoder {
 public:
  BlockDecoder(Codec codec, std::span<const std::byte> payload, std::size_t element_size,
               std::size_t elements);

  // Decodes the next block, or the next piece of one that is large and not shuffled. False after the last
  // one, and where there is a fault: it stays where it is.
  bool next();

  // Of the block that next() made: valid until it is called again.
  struct Block {
    const std::byte* bytes = nullptr;
    std::size_t size = 0;  // kBlockPadding more may be read if it holds bit planes
    bool planes = false;   // bit planes (bit_planes.hpp), else elements as they are
  };
  const Block& block() const { return block_; }

  // After the last block: a fault if bytes are left.
  void finish();

  const BlockFault& fault() const { return fault_; }

 private:
  bool fail(BlockStatus status, std::uint64_t found, std::uint64_t expected);
  bool next_stored(std::size_t size);  // as it lies in the payload
  bool next_piece();                   // of a block that is decoded in pieces
  bool decode(std::span<const std::byte> packed, std::size_t size);

  Codec codec_;
  std::span<const std::byte> payload_;
  std::size_t element_size_;
  std::size_t block_bytes_ = 0;
  std::size_t left_ = 0;  // bytes of pixels that no block has given yet
  std::size_t position_ = kBlockHeader;
  std::size_t next_block_ = 0;
  std::shared_ptr<std::byte[]> memory_;
  std::optional<Lz4Stream> pieces_;
  std::size_t pieces_end_ = 0;  // of the payload
  Block block_;
  BlockFault fault_;
};

}  // namespace annulus
