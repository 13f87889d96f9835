#include <fcntl.h>
#include <tools/plot/picture_mark.hpp>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

namespace annulus {
namespace {

using namespace std::string_view_literals;

// The chunk "Software: annulus" with its checksum, before the one that ends every PNG.
constexpr auto kEndOfPng = "\0\0\0\0IEND\xAE\x42\x60\x82"sv;
constexpr auto kPngMark = "\0\0\0\x10tEXtSoftware\0annulus\x0A\x5B\x96\x96"sv;
constexpr auto kSvgMark = "<!-- Software: annulus -->\n"sv;

}  // namespace

int mark_picture(const std::filesystem::path& picture, bool vector) {
  const int descriptor = ::open(picture.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const off_t end = ::lseek(descriptor, 0, SEEK_END);
  const std::string mark = vector ? std::string(kSvgMark) : std::string(kPngMark).append(kEndOfPng);
  const off_t place = vector ? end : end - static_cast<off_t>(kEndOfPng.size());
  const ssize_t put = ::pwrite(descriptor, mark.data(), mark.size(), place);
  int fault = put < 0 ? errno : put < static_cast<ssize_t>(mark.size()) ? ENOSPC : 0;
  if (::close(descriptor) != 0 && fault == 0) fault = errno;
  return fault;
}

bool is_marked_picture(const std::filesystem::path& picture) {
  const int descriptor = ::open(picture.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return false;
  std::array<char, 64> tail{};
  const off_t end = ::lseek(descriptor, 0, SEEK_END);
  const off_t start = end > static_cast<off_t>(tail.size()) ? end - static_cast<off_t>(tail.size()) : 0;
  const ssize_t got = ::pread(descriptor, tail.data(), tail.size(), start);
  ::close(descriptor);
  const std::string_view text(tail.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return text.ends_with(kSvgMark) || text.ends_with(std::string(kPngMark).append(kEndOfPng));
}

}  // namespace annulus
