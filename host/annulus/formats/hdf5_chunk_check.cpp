#include <annulus/formats/hdf5_chunk_check.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>

namespace annulus {
namespace {

constexpr H5Z_filter_t kLz4 = 32004;
constexpr H5Z_filter_t kBitshuffle = 32008;
constexpr std::uint64_t kFletcherBytes = 4;

std::uint64_t big_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

std::string wrong_size(std::uint64_t found, std::uint64_t expected) {
  return fmt::format("a chunk unpacks to {} bytes, not {}", found, expected);
}

std::string check_deflate(std::span<const std::byte> stored, std::uint64_t expected) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return "zlib is not available";
  std::array<Bytef, 16384> discarded;
  // A chunk has less than 4 GiB, as zlib counts.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(stored.data()));
  stream.avail_in = static_cast<uInt>(stored.size());
  int status = Z_OK;
  while (status == Z_OK && stream.total_out <= expected) {
    stream.next_out = discarded.data();
    stream.avail_out = discarded.size();
    status = inflate(&stream, Z_NO_FLUSH);
  }
  const std::uint64_t size = stream.total_out;
  inflateEnd(&stream);
  if (size > expected) return wrong_size(size, expected);
  if (status != Z_STREAM_END) return "the deflate stream of a chunk is corrupt";
  return size == expected ? std::string() : wrong_size(size, expected);
}

// Blocks of one length and what is left: each is a big-endian u32 of its stored bytes, then those.
struct Blocks {
  std::uint64_t count = 0;
  std::uint64_t raw_tail = 0;  // bytes after the last block
};

std::string check_blocks(std::span<const std::byte> stored, const Blocks& blocks) {
  std::size_t at = 12;
  for (std::uint64_t i = 0; i < blocks.count; ++i) {
    if (stored.size() - at < 4) return fmt::format("block {} of {} of a chunk is missing", i, blocks.count);
    const std::uint64_t size = big_endian(stored.subspan(at, 4));
    at += 4;
    if (size > stored.size() - at)
      return fmt::format("block {} of {} of a chunk is cut off", i, blocks.count);
    at += size;
  }
  return stored.size() - at < blocks.raw_tail ? "the last pixels of a chunk are missing" : std::string();
}

// Both formats start with the unpacked size (u64) and the size of a block in bytes (u32), big endian.
std::string check_lz4(std::span<const std::byte> stored, std::uint64_t expected) {
  if (stored.size() < 12) return "a chunk has no header";
  const std::uint64_t size = big_endian(stored.first(8));
  if (size != expected) return wrong_size(size, expected);
  const std::uint64_t block = big_endian(stored.subspan(8, 4));
  if (block == 0) return "a chunk has blocks without bytes";
  return check_blocks(stored, {(size + block - 1) / block, 0});
}

std::string check_bitshuffle(std::span<const std::byte> stored, std::uint64_t expected,
                             std::size_t element_size) {
  constexpr std::uint64_t kDefaultBlock = 8192;
  constexpr std::uint64_t kElementsTogether = 8;  // bits of eight elements are shuffled
  if (stored.size() < 12) return "a chunk has no header";
  const std::uint64_t size = big_endian(stored.first(8));
  if (size != expected) return wrong_size(size, expected);
  std::uint64_t block = big_endian(stored.subspan(8, 4)) / element_size;
  if (block == 0)
    block =
        std::max(kDefaultBlock / element_size / kElementsTogether * kElementsTogether, std::uint64_t{128});
  if (block % kElementsTogether != 0) return "a chunk has blocks of a size that cannot be";
  const std::uint64_t elements = size / element_size;
  const std::uint64_t rest = elements % block;
  return check_blocks(stored, {elements / block + (rest >= kElementsTogether ? 1 : 0),
                               rest % kElementsTogether * element_size});
}

}  // namespace

std::string chunk_fault(const std::vector<Hdf5Filter>& pipeline, std::uint32_t filter_mask,
                        std::span<const std::byte> stored, std::uint64_t chunk_bytes,
                        std::size_t element_size) {
  const auto skipped = [&](std::size_t i) { return i < 32 && (filter_mask >> i & 1) != 0; };
  // Filters below one that compresses may have added their checksums to what it was given.
  const auto expected_from = [&](std::size_t i) {
    std::uint64_t bytes = chunk_bytes;
    for (std::size_t below = 0; below < i; ++below) {
      if (pipeline[below].id == H5Z_FILTER_FLETCHER32 && !skipped(below)) bytes += kFletcherBytes;
    }
    return bytes;
  };
  for (std::size_t i = pipeline.size(); i-- > 0;) {
    if (skipped(i)) continue;
    const Hdf5Filter& filter = pipeline[i];
    switch (filter.id) {
      case H5Z_FILTER_SHUFFLE:
        break;
      case H5Z_FILTER_FLETCHER32:
        if (stored.size() < kFletcherBytes) return "a chunk is shorter than its checksum";
        stored = stored.first(stored.size() - kFletcherBytes);
        break;
      case H5Z_FILTER_DEFLATE:
        return check_deflate(stored, expected_from(i));
      case kLz4:
        return check_lz4(stored, expected_from(i));
      case kBitshuffle:
        // Parameter 4 names a compression; without one the size does not change.
        if (filter.values.size() > 4 && filter.values[4] != 0) {
          return check_bitshuffle(stored, expected_from(i), element_size);
        }
        break;
      default:
        return {};
    }
  }
  return stored.size() == chunk_bytes ? std::string() : wrong_size(stored.size(), chunk_bytes);
}

}  // namespace annulus
