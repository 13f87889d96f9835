#include <annulus/sources/hdf5_dataset.hpp>
#include <annulus/sources/hdf5_types.hpp>
#include <annulus/sources/header_checks.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace annulus {
namespace {

// Small chunks of very many frames make rows that nobody has the memory for: those are unpacked for each
// frame.
constexpr std::uint64_t kMostHeld = std::uint64_t{1} << 30;

}  // namespace

std::uint64_t Hdf5Dataset::stored_bytes() const { return H5Dget_storage_size(dataset_.get()); }

std::uint64_t Hdf5Dataset::average_bytes() const {
  const std::uint64_t pixels = shape_.size() * size_of(type_);
  if (way_ != Way::kWhole || frames_ == 0) return pixels;
  const std::uint64_t stored = H5Dget_storage_size(dataset_.get()) / frames_;
  return stored == 0 ? pixels : std::min(stored, pixels);
}

bool Hdf5Dataset::is_shared_with_writer() const {
  unsigned intent = 0;
  return H5Fget_intent(file_.get(), &intent) >= 0 && (intent & H5F_ACC_SWMR_READ) != 0;
}

std::uint64_t Hdf5Dataset::chunk_bytes() const {
  std::uint64_t bytes = stored_element_;
  for (const hsize_t side : chunk_) bytes *= side;  // HDF5 holds chunks below 4 GiB
  return bytes;
}

std::uint64_t Hdf5Dataset::held_bytes() const {
  if (virtual_) return held_by_sources_;
  if (chunk_.empty() || chunk_[0] == 1) return 0;
  const auto chunks_along = [](std::uint64_t side, hsize_t chunk) { return (side + chunk - 1) / chunk; };
  const std::uint64_t chunks = chunks_along(shape_.rows, chunk_[1]) * chunks_along(shape_.cols, chunk_[2]);
  return chunk_bytes() <= kMostHeld / chunks ? chunk_bytes() * chunks : 0;
}

// As HDF5 names it.
GridPoint Hdf5Dataset::place_of(const ChunkOffset& offset) const {
  GridPoint place = grid_.start_of_chunk(offset[0]);
  place.insert(place.end(), {offset[1], offset[2]});
  return place;
}

// 0 if it was never written.
std::uint64_t Hdf5Dataset::stored_size(const ChunkOffset& offset) const {
  hsize_t size = 0;
  if (H5Dget_chunk_storage_size(dataset_.get(), place_of(offset).data(), &size) >= 0) return size;
  H5Eclear2(H5E_DEFAULT);
  return 0;
}

template <typename Visit>
void Hdf5Dataset::for_each_chunk(std::uint64_t i, Visit&& visit) const {
  ChunkOffset offset{grid_.chunk_of(i), 0, 0};
  for (offset[1] = 0; offset[1] < shape_.rows; offset[1] += chunk_[1]) {
    for (offset[2] = 0; offset[2] < shape_.cols; offset[2] += chunk_[2]) visit(std::as_const(offset));
  }
}

bool Hdf5Dataset::is_written(std::uint64_t i) const {
  bool written = true;
  for_each_chunk(i, [&](const ChunkOffset& offset) { written = written && stored_size(offset) > 0; });
  return written;
}

// The library numbers the chunks that are stored in the order of their places. Frames cannot be tried one by
// one: a dataset may be laid out for any number of them.
std::uint64_t Hdf5Dataset::written_end() const {
  if (frames_ == 0) return 0;
  const Hdf5Handle space(H5Dget_space(dataset_.get()), H5Sclose);
  hsize_t chunks = 0;
  GridPoint place(static_cast<std::size_t>(rank_));
  const bool found = H5Dget_num_chunks(dataset_.get(), space.get(), &chunks) >= 0 && chunks > 0 &&
                     H5Dget_chunk_info(dataset_.get(), space.get(), chunks - 1, place.data(), nullptr,
                                       nullptr, nullptr) >= 0;
  if (!found) {
    H5Eclear2(H5E_DEFAULT);
    return 0;
  }
  const std::uint64_t last = number_of(place, grid_.sides);
  return last + (is_written(last) ? 1 : 0);
}

// A chunk as it is in the file; it must be there, and worth unpacking.
Bytes Hdf5Dataset::read_stored(std::uint64_t i, const ChunkOffset& offset, std::uint32_t& filter_mask) const {
  const std::uint64_t size = stored_size(offset);
  if (size == 0) {
    throw input_error(url_, fmt::format("frame {} was not, or not wholly, written", i),
                      "wait until the file is written");
  }
  // Unpacking takes memory for the whole chunk, whose size is a claim like any other.
  check_plausible(url_, chunk_bytes(), size);
  Buffer stored = allocate(url_, size);
  if (H5Dread_chunk(dataset_.get(), H5P_DEFAULT, place_of(offset).data(), &filter_mask, stored.bytes.get()) <
      0)
    throw hdf5_error(url_, fmt::format("frame {} cannot be read", i), kCopyAgain);
  return std::move(stored).freeze();
}

// With one filter at most.
StoredTile Hdf5Dataset::read_tile(std::uint64_t i, const ChunkOffset& offset) const {
  std::uint32_t filter_mask = 0;
  StoredTile tile{offset, packing_, read_stored(i, offset, filter_mask)};
  if ((filter_mask & 1) != 0) tile.packing = {.swapped = packing_.swapped};
  if (tile.packing.kind != ChunkPacking::Kind::kCodec && tile.bytes.size() != chunk_bytes()) {
    throw input_error(
        url_,
        fmt::format("frame {} is damaged: a chunk has {} bytes, not {}", i, tile.bytes.size(), chunk_bytes()),
        kCopyAgain);
  }
  return tile;
}

FetchedFrame Hdf5Dataset::fetch(std::uint64_t i) const {
  FetchedFrame fetched;
  fetched.frame = i;
  switch (way_) {
    case Way::kWhole: {
      StoredTile tile = read_tile(i, {grid_.chunk_of(i), 0, 0});
      fetched.codec = tile.packing.codec;
      fetched.payload = std::move(tile.bytes);
      break;
    }
    case Way::kTiles: {
      const auto read_tiles = [&] {
        std::vector<StoredTile> tiles;
        for_each_chunk(i, [&](const ChunkOffset& offset) { tiles.push_back(read_tile(i, offset)); });
        return tiles;
      };
      if (held_bytes() > 0) {
        fetched.row = rows_.row(grid_.chunk_of(i),
                                [&] { return std::make_shared<ChunkRow>(tile_layout_, read_tiles()); });
      } else {
        fetched.layout = tile_layout_;
        fetched.tiles = read_tiles();
      }
      break;
    }
    case Way::kLibrary:
      fetched.payload = read_through_library(i);
      break;
  }
  return fetched;
}

// Counting the chunks reads all of their index.
void Hdf5Dataset::touch() const {
  for (const VirtualPiece& piece : pieces_)
    if (!piece.is_pattern() && piece.is_of_images()) source_of(piece).touch();
  if (frames_ == 0) return;
  if (!chunk_.empty()) {
    const Hdf5Handle space(H5Dget_space(dataset_.get()), H5Sclose);
    hsize_t chunks = 0;
    H5Dget_num_chunks(dataset_.get(), space.get(), &chunks);
    is_written(0);
    is_written(frames_ - 1);
  }
  if (way_ == Way::kLibrary) fetch(0);
}

// Every chunk of the frame must be there, and worth unpacking.
void Hdf5Dataset::check_chunks(std::uint64_t i) const {
  if (virtual_) check_frame_in_sources(i);
  if (chunk_.empty()) return;
  const std::uint64_t row = grid_.chunk_of(i);
  if (chunk_[0] > 1 && checked_row_ == row) return;
  for_each_chunk(i, [&](const ChunkOffset& offset) {
    std::uint32_t mask = 0;
    const Bytes stored = read_stored(i, offset, mask);
    const std::string fault = chunk_fault(pipeline_, mask, stored.view(), chunk_bytes(), stored_element_);
    if (!fault.empty()) throw input_error(url_, fmt::format("frame {} is damaged: {}", i, fault), kCopyAgain);
  });
  checked_row_ = row;
}

Bytes Hdf5Dataset::read_through_library(std::uint64_t i) const {
  check_chunks(i);
  const Hdf5Handle space(H5Dget_space(dataset_.get()), H5Sclose);
  GridPoint start = grid_.point(i), count(start.size(), 1);
  start.insert(start.end(), {0, 0});
  count.insert(count.end(), {shape_.rows, shape_.cols});
  const Hdf5Handle memory(H5Screate_simple(2, &*(count.end() - 2), nullptr), H5Sclose);
  if (!space || !memory ||
      H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0) {
    throw hdf5_error(url_, fmt::format("frame {} cannot be selected", i), kCopyAgain);
  }
  Buffer buffer = allocate(url_, shape_.size() * size_of(type_));
  if (H5Dread(dataset_.get(), native_type(type_), memory.get(), space.get(), H5P_DEFAULT,
              buffer.bytes.get()) < 0) {
    throw hdf5_error(url_, fmt::format("frame {} cannot be read", i), kCopyAgain);
  }
  return std::move(buffer).freeze();
}

}  // namespace annulus
