#include <annulus/sources/hdf5_chunk_check.hpp>
#include <annulus/sources/hdf5_filters.hpp>

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>

namespace annulus {
namespace {

constexpr std::uint64_t kFletcherBytes = 4;
constexpr std::size_t kHeaderBytes = 12;  // of LZ4 and bitshuffle chunks

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

// A length of 15 goes on in the bytes that follow, up to the first that is not 255.
bool read_length(std::span<const std::byte>& block, std::size_t& length) {
  if (length < 15) return true;
  for (;;) {
    if (block.empty()) return false;
    const auto more = std::to_integer<std::size_t>(block[0]);
    block = block.subspan(1);
    length += more;
    if (more < 255) return true;
  }
}

// Whether an LZ4 block stays within itself and gives `expected` bytes. The plugins unpack with a function
// that knows no end of its input.
bool lz4_is_sound(std::span<const std::byte> block, std::uint64_t expected) {
  constexpr std::size_t kShortestMatch = 4;
  std::uint64_t unpacked = 0;
  while (!block.empty()) {
    const auto token = std::to_integer<std::size_t>(block[0]);
    block = block.subspan(1);
    std::size_t literals = token >> 4;
    if (!read_length(block, literals) || literals > block.size()) return false;
    block = block.subspan(literals);
    unpacked += literals;
    if (block.empty()) return unpacked == expected;  // the last sequence has no match
    if (block.size() < 2) return false;
    const auto low = std::to_integer<std::size_t>(block[0]);
    const auto distance = low | std::to_integer<std::size_t>(block[1]) << 8;
    block = block.subspan(2);
    std::size_t match = token & 15;
    if (distance == 0 || distance > unpacked || !read_length(block, match)) return false;
    unpacked += match + kShortestMatch;
    if (unpacked > expected) return false;
  }
  return false;
}

// How a chunk is divided: blocks of one size, a last one, and bytes that are not compressed. Each block is a
// big-endian u32, the number of its stored bytes, and these.
struct Blocks {
  std::uint64_t size = 0;  // unpacked
  std::uint64_t count = 0;
  std::uint64_t last_size = 0;  // 0: all are of one size
  std::uint64_t raw_tail = 0;
  bool raw_if_full = false;  // a block as long as what it unpacks to is not compressed
};

std::string check_blocks(std::span<const std::byte> stored, const Blocks& blocks) {
  stored = stored.subspan(kHeaderBytes);
  const std::uint64_t count = blocks.count + (blocks.last_size > 0 ? 1 : 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (stored.size() < 4) return fmt::format("block {} of {} of a chunk is missing", i, count);
    const std::uint64_t size = big_endian(stored.first(4));
    stored = stored.subspan(4);
    if (size > stored.size()) return fmt::format("block {} of {} of a chunk is cut off", i, count);
    const std::uint64_t unpacked = i < blocks.count ? blocks.size : blocks.last_size;
    const bool raw = blocks.raw_if_full && size == unpacked;
    if (!raw && !lz4_is_sound(stored.first(size), unpacked)) {
      return fmt::format("block {} of {} of a chunk is corrupt", i, count);
    }
    stored = stored.subspan(size);
  }
  return stored.size() < blocks.raw_tail ? "the last pixels of a chunk are missing" : std::string();
}

// Both formats start with the unpacked size (u64) and the size of a block in bytes (u32), big endian.
std::string check_lz4(std::span<const std::byte> stored, std::uint64_t expected) {
  if (stored.size() < kHeaderBytes) return "a chunk has no header";
  const std::uint64_t size = big_endian(stored.first(8));
  if (size != expected) return wrong_size(size, expected);
  const std::uint64_t block = std::min(size, big_endian(stored.subspan(8, 4)));
  if (block == 0) return "a chunk has blocks without bytes";
  return check_blocks(stored,
                      {.size = block, .count = size / block, .last_size = size % block, .raw_if_full = true});
}

std::string check_bitshuffle(std::span<const std::byte> stored, std::uint64_t expected,
                             std::size_t element_size) {
  constexpr std::uint64_t kDefaultBlock = 8192;
  constexpr std::uint64_t kElementsTogether = 8;  // the bits of eight elements are shuffled
  if (stored.size() < kHeaderBytes) return "a chunk has no header";
  const std::uint64_t size = big_endian(stored.first(8));
  if (size != expected) return wrong_size(size, expected);
  std::uint64_t block = big_endian(stored.subspan(8, 4)) / element_size;
  if (block == 0) {
    block =
        std::max(kDefaultBlock / element_size / kElementsTogether * kElementsTogether, std::uint64_t{128});
  }
  if (block % kElementsTogether != 0) return "a chunk has blocks of a size that cannot be";
  const std::uint64_t elements = size / element_size;
  const std::uint64_t rest = elements % block;
  const std::uint64_t tail = rest % kElementsTogether;
  return check_blocks(stored, {.size = block * element_size,
                               .count = elements / block,
                               .last_size = (rest - tail) * element_size,
                               .raw_tail = tail * element_size});
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
      case kLz4Filter:
        return check_lz4(stored, expected_from(i));
      case kBitshuffleFilter: {
        // Version (2), element size, block size, compression; without one the size does not change.
        if (filter.values.size() < 3 || filter.values[2] != element_size) {
          return "the bitshuffle filter is set for another type";
        }
        const unsigned compression = filter.values.size() > 4 ? filter.values[4] : kNoCompression;
        if (compression == kWithLz4) return check_bitshuffle(stored, expected_from(i), element_size);
        // A plugin that does not know the compression takes packed bytes for pixels.
        if (compression != kNoCompression) {
          return fmt::format("bitshuffle with compression {} is not supported, only LZ4", compression);
        }
        break;
      }
      default:
        return {};
    }
  }
  return stored.size() == chunk_bytes ? std::string() : wrong_size(stored.size(), chunk_bytes);
}

}  // namespace annulus
