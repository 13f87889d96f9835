// One dataset that holds an image, a stack or a grid of them, and what is stored of its frames.
#pragma once

#include <annulus/core/bytes.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/core/image.hpp>
#include <annulus/sources/hdf5_chunk_check.hpp>
#include <annulus/sources/hdf5_chunk_rows.hpp>
#include <annulus/sources/hdf5_file.hpp>
#include <annulus/sources/hdf5_grid.hpp>
#include <annulus/sources/hdf5_tiles.hpp>
#include <annulus/sources/hdf5_virtual.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

// What was fetched of a frame: its payload, or the chunks that have to be unpacked and put together, which
// needs no lock.
struct FetchedFrame {
  std::uint64_t frame = 0;  // of the dataset
  Codec codec = Codec::kRaw;
  Bytes payload;
  std::shared_ptr<const TileLayout> layout;  // if there is one, the tiles count
  std::vector<StoredTile> tiles;
  std::shared_ptr<ChunkRow> row;  // or these, which other frames share

  Bytes finish() && {
    if (row) return row->frame(frame);
    return layout ? assemble_tiles(*layout, frame, tiles) : std::move(payload);
  }
};

// Made, used and destroyed with the HDF5 lock held.
class Hdf5Dataset {
 public:
  // Throws kInput if it is absent, holds no images, or needs a filter that is not installed. A stack
  // without frames is one that may grow. `nesting` counts the virtual datasets around it.
  Hdf5Dataset(DatasetPlace place, Fence fence, int nesting = 0);

  const DatasetPlace& place() const { return place_; }
  PixelType type() const { return type_; }
  Shape shape() const { return shape_; }
  std::uint64_t frames() const { return frames_; }
  const GridPoint& grid() const { return grid_.sides; }  // all dimensions but those of an image

  // What a frame takes in the file, on average; its pixels if nothing is known.
  std::uint64_t stored_bytes() const;  // of all frames
  std::uint64_t average_bytes() const;

  // What is kept of chunks that hold several frames, so that they are unpacked once; 0 if that is too much.
  std::uint64_t held_bytes() const;

  // Whether the file was opened while somebody writes it, in the mode that is made for that.
  bool is_shared_with_writer() const;

  // Chunks show which frames were written, unless they were allocated before; of other layouts nobody can
  // tell.
  bool shows_what_is_written() const { return !chunk_.empty() && chunk_[0] == 1 && !allocated_early_; }
  bool is_written(std::uint64_t i) const;

  // Of such a dataset: one more than the last frame that is written, or 0.
  std::uint64_t written_end() const;

  // Frame i as it is stored, or its pixels in native (little endian) order where only the library can read
  // them. A frame that was never written throws kInput: the library would give its fill value instead.
  FetchedFrame fetch(std::uint64_t i) const;

  // For a probe: reads all of the structure that fetch() will use.
  void touch() const;

 private:
  // kWhole: a chunk is a frame, as backends take it. kTiles: chunks that we unpack ourselves. kLibrary: the
  // rest.
  enum class Way { kWhole, kTiles, kLibrary };

  void read_type();
  void read_shape();
  void read_filters(hid_t properties);
  void choose_way();
  void require_filters() const;
  void cache_chunks();
  void check_virtual_sources(hid_t properties);
  void check_pattern(const VirtualPiece& piece) const;
  void check_external_files(hid_t properties) const;
  DatasetPlace source_place(const VirtualPiece& piece) const;
  const Hdf5Dataset& source_of(const VirtualPiece& piece) const;
  void check_frame_in_sources(std::uint64_t i) const;
  template <typename Visit>
  void for_each_chunk(std::uint64_t i, Visit&& visit) const;
  GridPoint place_of(const ChunkOffset& offset) const;
  std::uint64_t stored_size(const ChunkOffset& offset) const;
  Bytes read_stored(std::uint64_t i, const ChunkOffset& offset, std::uint32_t& filter_mask) const;
  StoredTile read_tile(std::uint64_t i, const ChunkOffset& offset) const;
  void check_chunks(std::uint64_t i) const;
  Bytes read_through_library(std::uint64_t i) const;
  std::uint64_t chunk_bytes() const;

  using OpenSource = std::pair<std::pair<std::string, std::string>, std::unique_ptr<const Hdf5Dataset>>;

  DatasetPlace place_;
  Fence fence_;
  int nesting_ = 0;
  std::string url_;  // the place, for messages
  Hdf5Handle file_;
  Hdf5Handle dataset_;
  PixelType type_ = PixelType::kI32;
  bool native_ = false;   // elements are in the file as they are in memory
  bool swapped_ = false;  // or in the other byte order
  Shape shape_;
  std::uint64_t frames_ = 1;
  FrameGrid grid_;
  int rank_ = 0;                    // of the dataset: dimensions of the grid and two
  std::size_t stored_element_ = 0;  // bytes of an element in the file
  std::vector<hsize_t> chunk_;      // frames, rows, columns; empty unless chunked
  std::vector<Hdf5Filter> pipeline_;
  Way way_ = Way::kLibrary;
  ChunkPacking packing_;
  std::shared_ptr<const TileLayout> tile_layout_;     // for kTiles
  mutable ChunkRows rows_;                            // for kTiles
  mutable std::optional<std::uint64_t> checked_row_;  // for kLibrary: the chunks that were found whole last
  bool allocated_early_ = false;
  bool virtual_ = false;
  std::uint64_t held_by_sources_ = 0;
  std::vector<VirtualPiece> pieces_;              // of a virtual one
  mutable std::vector<OpenSource> open_sources_;  // by their names in its pieces, the oldest first
};

}  // namespace annulus
