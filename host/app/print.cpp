#include "print.hpp"

#include <annulus/core/text.hpp>

#include <cerrno>

namespace annulus::app {
namespace {

int first_fault = 0;

// After an attempt to print, with errno 0 before it.
void note(bool printed) {
  if (!printed && first_fault == 0) first_fault = errno != 0 ? errno : EIO;
}

std::string shown(std::string_view text, std::string_view kept) {
  const std::string safe = to_utf8(text);
  std::string result;
  result.reserve(safe.size());
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const auto byte = static_cast<unsigned char>(safe[i]);
    // U+0080 to U+009F are control characters too, in UTF-8 two bytes.
    const auto next = static_cast<unsigned char>(i + 1 < safe.size() ? safe[i + 1] : 0);
    const bool upper = byte == 0xC2 && next < 0xA0;
    const bool control = upper || byte < 0x20 || byte == 0x7F;
    if (!control || kept.find(safe[i]) != std::string_view::npos) {
      result += safe[i];
      continue;
    }
    result += fmt::format("\\x{:02x}", upper ? next : byte);
    if (upper) ++i;
  }
  return result;
}

}  // namespace

std::string visible(std::string_view text) { return shown(text, "\t\n"); }
std::string on_one_line(std::string_view text) { return shown(text, ""); }

void put(std::string_view text) {
  const std::string safe = visible(text);
  errno = 0;
  note(std::fwrite(safe.data(), 1, safe.size(), stdout) == safe.size());
}

bool can_print() { return first_fault == 0; }

int finish_printing() {
  errno = 0;
  note(std::fflush(stdout) == 0 && std::ferror(stdout) == 0);
  return first_fault;
}

void put_error(std::string_view text) {
  const std::string safe = visible(text);
  std::fwrite(safe.data(), 1, safe.size(), stderr);
  std::fflush(stderr);
}

}  // namespace annulus::app
