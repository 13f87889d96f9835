#include <annulus/codecs/load.hpp>
#include <annulus/codecs/lz4_offsets.hpp>

#include <cstdint>

namespace annulus {
namespace {

constexpr std::size_t kMoreFollows = 15;  // in a token: the length goes on in the bytes after it

// Two zeros side by side, without which no offset is 0: looked for in a fraction of the time that the walk
// from token to token takes, as nothing here depends on what came before.
bool has_two_zeros(std::span<const std::byte> packed) {
  constexpr std::size_t kAtOnce = 64;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(packed.data());
  std::size_t at = 0;
  for (; at + kAtOnce < packed.size(); at += kAtOnce) {
    unsigned char found = 0;
    for (std::size_t i = at; i < at + kAtOnce; ++i) found |= (bytes[i] | bytes[i + 1]) == 0;
    if (found) return true;
  }
  for (; at + 1 < packed.size(); ++at) {
    if ((bytes[at] | bytes[at + 1]) == 0) return true;
  }
  return false;
}

}  // namespace

bool has_offset_zero(std::span<const std::byte> packed) {
  if (!has_two_zeros(packed)) return false;
  std::size_t at = 0;
  const auto skip_length = [&](std::size_t length) {
    std::size_t more = length == kMoreFollows ? 255 : 0;
    while (more == 255 && at < packed.size()) length += more = std::to_integer<std::size_t>(packed[at++]);
    return length;
  };
  while (at < packed.size()) {
    const auto token = std::to_integer<std::size_t>(packed[at++]);
    const std::size_t literals = skip_length(token >> 4);
    if (packed.size() - at < literals + sizeof(std::uint16_t)) return false;
    at += literals;
    if (load<std::uint16_t>(packed.data() + at) == 0) return true;
    at += sizeof(std::uint16_t);
    skip_length(token & kMoreFollows);
  }
  return false;
}

}  // namespace annulus
