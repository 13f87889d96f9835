// Files that somebody packed with gzip or bzip2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace annulus {

enum class Compression : std::uint8_t { kNone, kGzip, kBzip2 };

// By magic bytes.
Compression sniff_compression(std::span<const std::byte> head);

// A few kilobytes can claim to unpack to terabytes; what is larger than this is refused.
inline constexpr std::size_t kMaxUnpacked = std::size_t{4} << 30;

// Whole archives, of one or several members. Throws kInput, naming `where`.
std::vector<std::byte> decompress(const std::string& where, Compression compression,
                                  std::span<const std::byte> packed, std::size_t limit = kMaxUnpacked);

}  // namespace annulus
