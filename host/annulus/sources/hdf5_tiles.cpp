#include <annulus/codecs/block_pixels.hpp>
#include <annulus/sources/hdf5_filters.hpp>
#include <annulus/sources/hdf5_tiles.hpp>
#include <annulus/sources/header_checks.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace annulus {
namespace {

constexpr std::size_t kElementsTogether = 8;  // the bits of eight elements are shuffled

// Bit k of all elements of a block, then bit k + 1 of all of them; what does not fill eight elements is as it
// was. Rare, so simple.
void unshuffle_bits(std::span<const std::byte> from, std::span<std::byte> to, std::size_t element_size,
                    std::size_t block_elements) {
  const std::size_t elements = from.size() / element_size;
  std::size_t first = 0;
  while (elements - first >= kElementsTogether) {
    const std::size_t count =
        std::min(block_elements, (elements - first) / kElementsTogether * kElementsTogether);
    const std::span<const std::byte> planes = from.subspan(first * element_size, count * element_size);
    const std::span<std::byte> block = to.subspan(first * element_size, count * element_size);
    std::ranges::fill(block, std::byte{0});
    for (std::size_t bit = 0; bit < 8 * element_size; ++bit) {
      const std::span<const std::byte> plane = planes.subspan(bit * (count / 8), count / 8);
      for (std::size_t i = 0; i < count; ++i) {
        const unsigned set = std::to_integer<unsigned>(plane[i / 8]) >> (i % 8) & 1u;
        block[i * element_size + bit / 8] |= static_cast<std::byte>(set << (bit % 8));
      }
    }
    first += count;
  }
  const std::size_t done = first * element_size;
  std::ranges::copy(from.subspan(done), to.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace

std::optional<ChunkPacking> known_packing(const std::string& where, const std::vector<Hdf5Filter>& pipeline,
                                          std::size_t element_size) {
  using Kind = ChunkPacking::Kind;
  if (pipeline.empty()) return ChunkPacking{};
  if (pipeline.size() > 1) return std::nullopt;
  const Hdf5Filter& filter = pipeline.front();
  if (filter.id == kLz4Filter) return ChunkPacking{Kind::kCodec, Codec::kLz4, 0};
  if (filter.id != kBitshuffleFilter) return std::nullopt;
  // Major and minor version, element size, block size, compression.
  const std::vector<unsigned>& values = filter.values;
  if (values.size() < 3 || values[2] != element_size) {
    throw input_error(where, "the bitshuffle filter is set for another type", kCopyAgain);
  }
  const unsigned compression = values.size() > 4 ? values[4] : kNoCompression;
  if (compression == kWithLz4) return ChunkPacking{Kind::kCodec, Codec::kBitshuffleLz4, 0};
  if (compression == kWithZstd) return ChunkPacking{Kind::kCodec, Codec::kBitshuffleZstd, 0};
  if (compression != kNoCompression) {
    throw input_error(where, fmt::format("bitshuffle with compression {} is not known", compression),
                      "known are none, LZ4 and Zstd");
  }
  std::size_t block = values.size() > 3 ? values[3] : 0;
  if (block == 0) block = default_block_bytes(element_size) / element_size;
  if (block % kElementsTogether != 0) {
    throw input_error(where, fmt::format("blocks of {} elements cannot be shuffled", block), kCopyAgain);
  }
  return ChunkPacking{Kind::kShuffledBits, Codec::kRaw, block};
}

namespace {

Bytes without_packing(const TileLayout& layout, std::uint64_t frame, const StoredTile& tile) {
  const std::uint64_t elements = layout.chunk[0] * layout.chunk[1] * layout.chunk[2];
  const std::size_t element_size = size_of(layout.type);
  switch (tile.packing.kind) {
    case ChunkPacking::Kind::kNone:
      break;
    case ChunkPacking::Kind::kShuffledBits: {
      Buffer buffer = allocate(layout.where, tile.bytes.size());
      unshuffle_bits(tile.bytes.view(), buffer.view(), element_size, tile.packing.block_elements);
      return std::move(buffer).freeze();
    }
    case ChunkPacking::Kind::kCodec:
      return Bytes(decode_blocks(tile.packing.codec, tile.bytes.view(), element_size, elements,
                                 fmt::format("{}, frame {}", layout.where, frame)));
  }
  return tile.bytes;
}

}  // namespace

Bytes unpack_tile(const TileLayout& layout, std::uint64_t frame, const StoredTile& tile) {
  Bytes elements = without_packing(layout, frame, tile);
  return tile.packing.swapped ? byte_swapped(layout.where, elements, size_of(layout.type)) : elements;
}

Bytes assemble_tiles(const TileLayout& layout, std::uint64_t frame, const std::vector<StoredTile>& tiles) {
  const Shape shape = layout.shape;
  const std::vector<hsize_t>& chunk = layout.chunk;
  const std::size_t element = size_of(layout.type);
  const bool whole = tiles.size() == 1 && chunk[0] == 1 && chunk[1] == shape.rows && chunk[2] == shape.cols;
  if (whole) return unpack_tile(layout, frame, tiles.front());
  Buffer buffer = allocate(layout.where, shape.size() * element);
  const std::uint64_t within = layout.grid.within_chunk(frame);
  for (const StoredTile& tile : tiles) {
    const Bytes pixels = unpack_tile(layout, frame, tile);
    // Chunks at the rim hold more than the image.
    const std::size_t rows = std::min<hsize_t>(chunk[1], shape.rows - tile.offset[1]);
    const std::size_t cols = std::min<hsize_t>(chunk[2], shape.cols - tile.offset[2]);
    const std::size_t first = within * chunk[1] * chunk[2];
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t from = (first + row * chunk[2]) * element;
      const std::size_t to = ((tile.offset[1] + row) * shape.cols + tile.offset[2]) * element;
      std::memcpy(buffer.bytes.get() + to, pixels.data() + from, cols * element);
    }
  }
  return std::move(buffer).freeze();
}

}  // namespace annulus
