// Loaded before the C library (LD_PRELOAD): counts and records every call that changes a file below a folder,
// and kills the program before one of them.
//   DURABILITY_FOLDER   the folder, without a slash at its end
//   DURABILITY_LOG      records go to this file, which is not below the folder (see durability.py)
//   DURABILITY_KILL_AT  the number of the call that is not made any more; from 0
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

template <typename Function>
Function next_of(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Recorder {
  std::string folder = variable("DURABILITY_FOLDER");
  std::string kill_at = variable("DURABILITY_KILL_AT");
  long long calls = 0;
  int log = -1;
  std::mutex lock;

  Recorder() {
    const std::string path = variable("DURABILITY_LOG");
    if (!path.empty()) {
      log = next_of<int (*)(const char*, int, ...)>("open")(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    }
  }
};

Recorder& recorder() {
  static auto* const it = new Recorder();  // outlives whatever runs when the program ends
  return *it;
}

bool is_watched(const std::string& path) {
  const std::string& folder = recorder().folder;
  return !folder.empty() && path.starts_with(folder) &&
         (path.size() == folder.size() || path[folder.size()] == '/');
}

std::string path_of(int descriptor) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  return length < 0 ? "" : std::string(path, static_cast<std::size_t>(length));
}

void put(const void* bytes, std::size_t size) {
  static const auto write_now = next_of<ssize_t (*)(int, const void*, std::size_t)>("write");
  if (recorder().log >= 0 && write_now(recorder().log, bytes, size) != static_cast<ssize_t>(size)) abort();
}

void put_text(const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  put(&size, sizeof size);
  put(text.data(), text.size());
}

// What is to be done to a file: recorded, then done by the caller, unless this is where the program ends.
void note(char kind, const std::string& path, const std::string& other, std::uint64_t offset,
          const void* bytes, std::size_t size) {
  Recorder& all = recorder();
  const std::lock_guard guard(all.lock);
  if (!all.kill_at.empty() && all.calls == std::atoll(all.kill_at.c_str())) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  ++all.calls;
  if (all.log < 0) return;
  put(&kind, 1);
  put_text(path);
  put_text(other);
  put(&offset, sizeof offset);
  put_text(std::string(static_cast<const char*>(bytes), size));
}

void note_descriptor(char kind, int descriptor, std::uint64_t offset = 0, const void* bytes = "",
                     std::size_t size = 0) {
  const std::string path = path_of(descriptor);
  if (is_watched(path)) note(kind, path, "", offset, bytes, size);
}

std::string absolute(const char* path) {
  if (path[0] == '/') return path;
  char folder[PATH_MAX];
  return getcwd(folder, sizeof folder) == nullptr ? path : std::string(folder) + "/" + path;
}

int open_noting(const char* name, const char* path, int flags, mode_t mode) {
  const std::string full = absolute(path);
  const bool changes = (flags & O_TRUNC) != 0 || ((flags & O_CREAT) != 0 && access(path, F_OK) != 0);
  if (changes && is_watched(full)) note('c', full, "", 0, "", 0);
  return next_of<int (*)(const char*, int, ...)>(name)(path, flags, mode);
}

mode_t mode_of(int flags, va_list& arguments) {
  return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(arguments, unsigned)) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_noting("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_noting("open64", path, flags, mode);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  note_descriptor('w', descriptor, static_cast<std::uint64_t>(offset), bytes, size);
  return next_of<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(descriptor, bytes, size, offset);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  note_descriptor('w', descriptor, static_cast<std::uint64_t>(offset), bytes, size);
  return next_of<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64")(descriptor, bytes, size, offset);
}

int ftruncate(int descriptor, off_t length) noexcept {
  note_descriptor('t', descriptor, static_cast<std::uint64_t>(length));
  return next_of<int (*)(int, off_t)>("ftruncate")(descriptor, length);
}

int ftruncate64(int descriptor, off64_t length) noexcept {
  note_descriptor('t', descriptor, static_cast<std::uint64_t>(length));
  return next_of<int (*)(int, off64_t)>("ftruncate64")(descriptor, length);
}

int fdatasync(int descriptor) {
  note_descriptor('s', descriptor);
  return next_of<int (*)(int)>("fdatasync")(descriptor);
}

int fsync(int descriptor) {
  note_descriptor('s', descriptor);
  return next_of<int (*)(int)>("fsync")(descriptor);
}

int rename(const char* from, const char* to) noexcept {
  if (is_watched(absolute(from))) note('r', absolute(from), absolute(to), 0, "", 0);
  return next_of<int (*)(const char*, const char*)>("rename")(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  if (is_watched(absolute(from))) note('r', absolute(from), absolute(to), 0, "", 0);
  return next_of<int (*)(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from,
                                                                                     to_folder, to, flags);
}

int unlink(const char* path) noexcept {
  if (is_watched(absolute(path))) note('u', absolute(path), "", 0, "", 0);
  return next_of<int (*)(const char*)>("unlink")(path);
}

}  // extern "C"
