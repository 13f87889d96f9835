#include <annulus/sources/hdf5_chunk_rows.hpp>

#include <utility>

namespace annulus {

Bytes ChunkRow::frame(std::uint64_t frame) {
  unpack(frame);
  // Nobody changes the tiles any more once all are unpacked.
  return assemble_tiles(*layout_, frame, tiles_);
}

void ChunkRow::unpack(std::uint64_t frame) {
  const std::lock_guard lock(mutex_);
  for (StoredTile& tile : tiles_) {
    if (tile.packing.changes_nothing()) continue;
    tile.bytes = unpack_tile(*layout_, frame, tile);
    tile.packing = {};
    ++unpacked_;
  }
}

std::uint64_t ChunkRow::chunks_unpacked() const {
  const std::lock_guard lock(mutex_);
  return unpacked_;
}

std::shared_ptr<ChunkRow> ChunkRows::row(std::uint64_t index, const Load& load) {
  if (last_ && last_index_ == index) return last_;
  auto wanted = previous_index_ == index ? previous_.lock() : nullptr;
  // The old row goes before the new one comes, unless somebody still reads from it.
  previous_ = last_;
  previous_index_ = last_index_;
  last_.reset();
  if (!wanted) wanted = load();
  last_ = wanted;
  last_index_ = index;
  return wanted;
}

}  // namespace annulus
