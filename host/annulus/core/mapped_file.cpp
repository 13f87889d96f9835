#include <annulus/core/mapped_file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

namespace annulus {

std::optional<Bytes> map_file(const std::filesystem::path& path, ErrorKind kind) {
  const auto failure = [&](int code) {
    return Error(kind, path.string(), "cannot be read: " + std::generic_category().message(code));
  };
  // Not blocking: opening a pipe that nobody writes to must not hang.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (descriptor < 0) throw failure(errno);
  const std::unique_ptr<const int, void (*)(const int*)> closing(&descriptor,
                                                                 [](const int* d) { ::close(*d); });

  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw failure(errno);
  if (!S_ISREG(status.st_mode)) throw Error(kind, path.string(), "is not a plain file");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return Bytes();
  // Populated at once: a page fault for every few pages would take longer than all else.
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, descriptor, 0);
  if (address == MAP_FAILED) throw failure(errno);
  const std::shared_ptr<const void> owner(address,
                                          [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return Bytes(owner, {static_cast<const std::byte*>(address), size});
}

}  // namespace annulus
