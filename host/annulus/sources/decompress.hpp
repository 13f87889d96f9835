// Files that somebody packed with gzip or bzip2.
#pragma once

#include <annulus/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace annulus {

enum class Compression : std::uint8_t { kNone, kGzip, kBzip2 };

// By magic bytes.
Compression sniff_compression(std::span<const std::byte> head);

// Whole archives, of one or several members. Throws kInput, naming `where`; also if there would be more than
// `limit` bytes, of which a small archive can claim any number.
std::vector<std::byte> decompress(const std::string& where, Compression compression,
                                  std::span<const std::byte> packed, std::size_t limit);

Error too_much_to_unpack(const std::string& where, std::size_t limit);

}  // namespace annulus
