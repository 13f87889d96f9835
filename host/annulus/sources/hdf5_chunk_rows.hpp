// Chunks that hold several frames, unpacked once for all of them.
#pragma once

#include <annulus/sources/hdf5_tiles.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace annulus {

// All chunks that have a part in the same frames. Used by several threads at once, without the HDF5 lock.
class ChunkRow {
 public:
  ChunkRow(std::shared_ptr<const TileLayout> layout, std::vector<StoredTile> tiles)
      : layout_(std::move(layout)), tiles_(std::move(tiles)) {}

  // A frame of the dataset, by its number there. Whoever comes first unpacks, the others wait for it. Throws
  // kInput, naming frame and block.
  Bytes frame(std::uint64_t frame);

  std::uint64_t chunks_unpacked() const;

 private:
  void unpack(std::uint64_t frame);

  const std::shared_ptr<const TileLayout> layout_;
  mutable std::mutex mutex_;
  std::vector<StoredTile> tiles_;
  std::uint64_t unpacked_ = 0;
};

// The row of a dataset that was asked for last, and the one before as long as somebody reads from it: frames
// are read in order, by a few threads. Used with the HDF5 lock held.
class ChunkRows {
 public:
  using Load = std::function<std::shared_ptr<ChunkRow>()>;

  std::shared_ptr<ChunkRow> row(std::uint64_t index, const Load& load);

 private:
  std::uint64_t last_index_ = 0;
  std::shared_ptr<ChunkRow> last_;
  std::uint64_t previous_index_ = 0;
  std::weak_ptr<ChunkRow> previous_;
};

}  // namespace annulus
