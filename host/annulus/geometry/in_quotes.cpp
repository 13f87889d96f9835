#include <annulus/geometry/in_quotes.hpp>

#include <fmt/format.h>

namespace annulus {

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

}  // namespace annulus
