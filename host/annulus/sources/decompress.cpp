#include <annulus/sources/decompress.hpp>
#include <annulus/sources/header_checks.hpp>

#include <bzlib.h>
#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace annulus {
namespace {

// The libraries count in unsigned int.
constexpr std::size_t kMaxStep = std::size_t{1} << 30;

Error truncated(const std::string& where, const char* format) {
  return input_error(where, fmt::format("the {} archive ends too early", format), kCopyAgain);
}

// Room for more output, never beyond `limit`.
void grow(const std::string& where, std::vector<std::byte>& unpacked, std::size_t limit) {
  if (unpacked.size() >= limit) throw too_much_to_unpack(where, limit);
  try {
    unpacked.resize(std::min(limit, std::max<std::size_t>(std::size_t{1} << 16, 2 * unpacked.size())));
  } catch (const std::bad_alloc&) {
    throw input_error(where, "not enough memory to unpack it");
  }
}

bool only_zeros(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

struct Inflater {
  z_stream stream{};
  Inflater() {
    // 15 + 16: the largest window, gzip only. The header's and the data's checksums are verified.
    if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

std::vector<std::byte> gunzip(const std::string& where, std::span<const std::byte> packed,
                              std::size_t limit) {
  Inflater inflater;
  z_stream& stream = inflater.stream;
  std::vector<std::byte> unpacked;
  std::size_t produced = 0;
  for (;;) {
    if (produced == unpacked.size()) grow(where, unpacked, limit);
    const auto room = static_cast<uInt>(std::min(kMaxStep, unpacked.size() - produced));
    const auto input = static_cast<uInt>(std::min(kMaxStep, packed.size()));
    stream.next_out = reinterpret_cast<Bytef*>(unpacked.data() + produced);
    stream.avail_out = room;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream.avail_in = input;
    const int status = inflate(&stream, Z_NO_FLUSH);
    produced += room - stream.avail_out;
    packed = packed.subspan(input - stream.avail_in);
    if (status == Z_STREAM_END) {
      if (only_zeros(packed)) break;  // tapes and some tools pad with zeros
      if (sniff_compression(packed) != Compression::kGzip) {
        throw input_error(where, fmt::format("{} bytes after the end of the gzip archive", packed.size()),
                          kCopyAgain);
      }
      inflateReset(&stream);
    } else if (status == Z_BUF_ERROR || (status == Z_OK && packed.empty() && stream.avail_out > 0)) {
      throw truncated(where, "gzip");
    } else if (status != Z_OK) {
      throw input_error(where,
                        fmt::format("the gzip archive is corrupt: {}", stream.msg ? stream.msg : "bad data"),
                        kCopyAgain);
    }
  }
  unpacked.resize(produced);
  return unpacked;
}

struct Bunzipper {
  bz_stream stream{};
  Bunzipper() {
    if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) throw std::bad_alloc();
  }
  ~Bunzipper() { BZ2_bzDecompressEnd(&stream); }
  Bunzipper(const Bunzipper&) = delete;
  Bunzipper& operator=(const Bunzipper&) = delete;
  void restart() {
    BZ2_bzDecompressEnd(&stream);
    stream = {};
    if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) throw std::bad_alloc();
  }
};

std::vector<std::byte> bunzip2(const std::string& where, std::span<const std::byte> packed,
                               std::size_t limit) {
  Bunzipper bunzipper;
  bz_stream& stream = bunzipper.stream;
  std::vector<std::byte> unpacked;
  std::size_t produced = 0;
  for (;;) {
    if (produced == unpacked.size()) grow(where, unpacked, limit);
    const auto room = static_cast<unsigned>(std::min(kMaxStep, unpacked.size() - produced));
    const auto input = static_cast<unsigned>(std::min(kMaxStep, packed.size()));
    stream.next_out = reinterpret_cast<char*>(unpacked.data() + produced);
    stream.avail_out = room;
    stream.next_in = reinterpret_cast<char*>(const_cast<std::byte*>(packed.data()));
    stream.avail_in = input;
    const int status = BZ2_bzDecompress(&stream);
    produced += room - stream.avail_out;
    packed = packed.subspan(input - stream.avail_in);
    if (status == BZ_STREAM_END) {
      if (only_zeros(packed)) break;
      if (sniff_compression(packed) != Compression::kBzip2) {
        throw input_error(where, fmt::format("{} bytes after the end of the bzip2 archive", packed.size()),
                          kCopyAgain);
      }
      bunzipper.restart();
    } else if (status == BZ_OK && packed.empty() && stream.avail_out > 0) {
      throw truncated(where, "bzip2");
    } else if (status != BZ_OK) {
      throw input_error(where, fmt::format("the bzip2 archive is corrupt (status {})", status), kCopyAgain);
    }
  }
  unpacked.resize(produced);
  return unpacked;
}

bool starts_with(std::span<const std::byte> head, std::initializer_list<unsigned char> magic) {
  return head.size() >= magic.size() &&
         std::ranges::equal(magic, head.first(magic.size()),
                            [](unsigned char a, std::byte b) { return std::byte{a} == b; });
}

}  // namespace

Error too_much_to_unpack(const std::string& where, std::size_t limit) {
  return input_error(where, fmt::format("the archive unpacks to more than {} MiB", limit >> 20),
                     "if this is intended, unpack it yourself, or allow more with `memory`");
}

Compression sniff_compression(std::span<const std::byte> head) {
  if (starts_with(head, {0x1f, 0x8b, 0x08})) return Compression::kGzip;
  if (starts_with(head, {'B', 'Z', 'h'}) && head.size() >= 10 && head[3] >= std::byte{'1'} &&
      head[3] <= std::byte{'9'} &&
      (starts_with(head.subspan(4), {0x31, 0x41, 0x59, 0x26, 0x53, 0x59}) ||
       starts_with(head.subspan(4), {0x17, 0x72, 0x45, 0x38, 0x50, 0x90}))) {
    return Compression::kBzip2;
  }
  return Compression::kNone;
}

std::vector<std::byte> decompress(const std::string& where, Compression compression,
                                  std::span<const std::byte> packed, std::size_t limit) {
  switch (compression) {
    case Compression::kGzip:
      return gunzip(where, packed, limit);
    case Compression::kBzip2:
      return bunzip2(where, packed, limit);
    case Compression::kNone:
      break;
  }
  return {packed.begin(), packed.end()};
}

}  // namespace annulus
