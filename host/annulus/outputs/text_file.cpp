#include <annulus/core/error.hpp>
#include <annulus/outputs/text_file.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace annulus {
namespace {

// Returns errno, 0 for success.
int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(descriptor, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return errno != 0 ? errno : EIO;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

}  // namespace

void write_whole_file(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path temporary =
      path.parent_path() / fmt::format(".{}.part{}", path.filename().string(), getpid());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  int fault = descriptor < 0 ? errno : write_all(descriptor, content);
  if (descriptor >= 0 && ::close(descriptor) != 0 && fault == 0) fault = errno;
  if (fault == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) fault = errno;
  if (fault == 0) return;
  if (descriptor >= 0) ::unlink(temporary.c_str());
  throw Error(ErrorKind::kOutput, path.string(), std::string("cannot be written: ") + std::strerror(fault),
              "make room, check the folder's permissions or choose another `output`");
}

}  // namespace annulus
