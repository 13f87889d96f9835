// Chunks of HDF5 files that are unpacked without the library's filter plugins, and frames put together from
// them.
#pragma once

#include <annulus/core/bytes.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/core/image.hpp>
#include <annulus/sources/hdf5_chunk_check.hpp>
#include <annulus/sources/hdf5_grid.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

// How the chunks of a dataset are packed, where it is a way that we know.
struct ChunkPacking {
  enum class Kind { kNone, kShuffledBits, kCodec } kind = Kind::kNone;
  Codec codec = Codec::kRaw;       // for kCodec
  std::size_t block_elements = 0;  // for kShuffledBits
  bool swapped = false;            // elements are big endian

  bool changes_nothing() const { return kind == Kind::kNone && !swapped; }
};

// None if only the library could unpack such chunks. Throws kInput, naming `where`, for a filter that is set
// for elements of another size.
std::optional<ChunkPacking> known_packing(const std::string& where, const std::vector<Hdf5Filter>& pipeline,
                                          std::size_t element_size);

// Of a chunk: its number along the grid of frames, and the row and column of its first pixel.
using ChunkOffset = std::array<hsize_t, 3>;

struct StoredTile {
  ChunkOffset offset{};
  ChunkPacking packing;  // of this one: its filter may have been skipped
  Bytes bytes;
};

// What is the same for all frames of a dataset.
struct TileLayout {
  std::string where;  // for messages
  Shape shape;
  PixelType type = PixelType::kI32;
  std::vector<hsize_t> chunk;  // frames, rows, columns
  FrameGrid grid;
};

// The elements of one chunk. Throws kInput, naming frame and block.
Bytes unpack_tile(const TileLayout& layout, std::uint64_t frame, const StoredTile& tile);

// Frame `frame` of a stack out of all the chunks that have a part in it. Throws kInput, naming frame and
// block.
Bytes assemble_tiles(const TileLayout& layout, std::uint64_t frame, const std::vector<StoredTile>& tiles);

}  // namespace annulus
