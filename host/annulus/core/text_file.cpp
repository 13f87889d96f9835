#include <annulus/core/text_file.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace annulus {
namespace {

constexpr std::size_t kLargestFile = std::size_t{16} << 20;

}  // namespace

std::string read_text_file(const std::filesystem::path& path, ErrorKind kind) {
  namespace fs = std::filesystem;
  const auto unreadable = [&](const std::string& fault, const std::string& cure) {
    return Error(kind, path.string(), "cannot be read: " + fault, cure);
  };
  std::error_code status;
  if (!fs::exists(path, status)) throw unreadable("no such file", "check the name");
  if (fs::is_directory(path, status)) throw unreadable("it is a directory", "name the file in it");
  if (!fs::is_regular_file(path, status))
    throw unreadable("it is not an ordinary file", "copy it to a file first");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw unreadable(std::strerror(errno), "check its permissions");

  // One byte more than allowed tells a file that is too large, whatever its size is said to be.
  std::string text(kLargestFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw unreadable(std::strerror(errno), "check the disk");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLargestFile) throw unreadable("it is larger than 16 MiB", "is it the right file?");
  return text;
}

}  // namespace annulus
