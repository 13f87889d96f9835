#include <annulus/core/guarded_mapping.hpp>
#include <annulus/core/large_vector.hpp>
#include <annulus/core/private_folder.hpp>
#include <annulus/core/read_file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

namespace annulus {
namespace {

constexpr std::size_t kLargestFile = std::size_t{16} << 20;

Bytes read_whole(int descriptor, std::size_t size, const std::function<Error(int code)>& failure) {
  auto content = std::make_shared<LargeVector<std::byte>>(size);
  for (std::size_t done = 0; done < size;) {
    const ssize_t count = ::pread(descriptor, content->data() + done, size - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw failure(count < 0 ? errno : EIO);  // or it became shorter
    done += static_cast<std::size_t>(count);
  }
  const std::span<const std::byte> view(*content);
  return Bytes(std::move(content), view);
}

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

std::optional<Bytes> map_file(const std::filesystem::path& path, ErrorKind kind, MapFrom from) {
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
  if (const std::string fault = distrust(status); from == MapFrom::kTrusted && !fault.empty())
    throw Error(kind, path.string(), fault + ", so it is not believed");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return Bytes();
  if (!mapping_is_allowed()) return read_whole(descriptor, size, failure);
  // Populated at once: a page fault for every few pages would take longer than all else.
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, descriptor, 0);
  if (address == MAP_FAILED) throw failure(errno);
  const std::shared_ptr<const void> owner(address,
                                          [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return Bytes(owner, {static_cast<const std::byte*>(address), size});
}

}  // namespace annulus
