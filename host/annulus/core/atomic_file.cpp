#include <annulus/core/atomic_file.hpp>
#include <annulus/core/error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".part";
constexpr std::chrono::hours kAbandoned{1};

// What temporary_name() puts behind the beginning: files of others are not touched.
bool is_random_part(std::string_view text) {
  constexpr std::size_t kDigits = 16;
  if (!text.ends_with(kEnding) || text.size() < kDigits + 1 + std::string_view(kEnding).size()) return false;
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return std::ranges::all_of(text.substr(0, kDigits), is_hex) && text[kDigits] == '-';
}

Error cannot_write(const fs::path& path, int code) {
  return Error(ErrorKind::kOutput, path.string(),
               "cannot be written: " + std::generic_category().message(code),
               "make room, or check the permissions of the folder");
}

// Room is left for the ending: names have at most 255 bytes.
std::string beginning_of(const fs::path& path) { return path.filename().string().substr(0, 200) + "."; }

}  // namespace

fs::path temporary_name(const fs::path& path, int attempt) {
  std::random_device chance;  // of the system: nobody can foresee it
  return path.parent_path() /
         fmt::format("{}{:08x}{:08x}-{}{}", beginning_of(path), chance(), chance(), attempt, kEnding);
}

void remove_abandoned(const fs::path& path) {
  std::error_code ignored;
  const std::string beginning = beginning_of(path);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(beginning) || !is_random_part(std::string_view(name).substr(beginning.size())))
      continue;
    const bool is_file = it->symlink_status(ignored).type() == fs::file_type::regular;
    const auto written = it->last_write_time(ignored);
    if (is_file && !ignored && fs::file_time_type::clock::now() - written > kAbandoned)
      fs::remove(it->path(), ignored);
  }
}

void sync_folder_of(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

// Not every file system can refuse to replace in the first way, and some not in the
// second.
int give_name(const fs::path& from, const fs::path& to, bool replacing) {
  if (!replacing) {
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (::link(from.c_str(), to.c_str()) == 0) return ::unlink(from.c_str()) == 0 ? 0 : errno;
    if (errno == EEXIST) return errno;
  }
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

TemporaryFile create_temporary(const fs::path& path, mode_t mode) {
  TemporaryFile file;
  for (int attempt = 0; file.descriptor < 0; ++attempt) {
    file.name = temporary_name(path, attempt);
    file.descriptor = ::open(file.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file.descriptor < 0 && errno != EEXIST) return file;
  }
  return file;
}

AtomicFile::AtomicFile(fs::path path, mode_t mode) : path_(std::move(path)) {
  remove_abandoned(path_);
  TemporaryFile file = create_temporary(path_, mode);
  if (file.descriptor < 0) throw cannot_write(path_, errno);
  temporary_ = std::move(file.name);
  descriptor_ = file.descriptor;
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw cannot_write(path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) throw cannot_write(path_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) throw cannot_write(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw cannot_write(path_, errno);
  temporary_.clear();
  sync_folder_of(path_);
}

}  // namespace annulus
