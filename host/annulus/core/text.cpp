#include <annulus/core/text.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>

namespace annulus {
namespace {

constexpr std::string_view kDots = "...";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// Bytes of the valid character at the start of `text`, 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return lead == 0 ? 0 : 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues_character(text[i])) return 0;
    code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  // Longer than needed, beyond Unicode, or half of a UTF-16 pair.
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return 0;
  return length;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  std::string result = "'";
  for (const char c : text.substr(0, kLongest)) {
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > kLongest) result += "...";
  return result + "'";
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    text += length == 0 ? kReplacement : bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string keep_tail(std::string_view text, std::size_t length) {
  if (text.size() <= length) return std::string(text);
  std::size_t begin = text.size() - (length - kDots.size());
  while (begin < text.size() && continues_character(text[begin])) ++begin;
  return std::string(kDots).append(text.substr(begin));
}

std::string keep_head(std::string_view text, std::size_t length) {
  if (text.size() <= length) return std::string(text);
  std::size_t end = length - kDots.size();
  while (end > 0 && continues_character(text[end])) --end;
  return std::string(text.substr(0, end)).append(kDots);
}

}  // namespace annulus
