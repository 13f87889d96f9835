#include <annulus/core/guarded_mapping.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/input_file.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace annulus {
namespace {

std::string errno_text(int code) { return std::generic_category().message(code); }

Error cannot_open(const std::string& path, int code) {
  const char* cure = "";
  if (code == ENOENT || code == ENOTDIR) cure = "check the name of the file";
  if (code == EACCES || code == EPERM) cure = "check the permissions of the file and its folders";
  if (code == EMFILE || code == ENFILE) cure = "raise the limit of open files, see ulimit -n";
  return input_error(path, "cannot open: " + errno_text(code), cure);
}

std::size_t read_descriptor(const std::string& path, int descriptor, std::uint64_t offset,
                            std::span<std::byte> buffer) {
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t count =
        ::pread(descriptor, buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw input_error(path, fmt::format("cannot read at byte {}: {}", offset + done, errno_text(errno)));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace

InputFile::InputFile(std::string path, std::uint64_t most_unpacked) : path_(std::move(path)) {
  // Not blocking: opening a pipe that nobody writes to must not hang.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw cannot_open(path_, errno);
  try {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) throw cannot_open(path_, errno);
    if (S_ISDIR(status.st_mode)) throw input_error(path_, "is a directory", "give the files in it");
    if (!S_ISREG(status.st_mode)) throw input_error(path_, "is not a plain file", "copy it to a file first");
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (size_ == 0)
      throw input_error(path_, "the file is empty", "copy it again, or wait until it is written");
    head_ = read(0, std::min<std::uint64_t>(size_, kHead));

    compression_ = sniff_compression(head_.view());
    if (compression_ == Compression::kNone) return;
    // One that is larger than what it may unpack to is refused before it is read.
    if (size_ > most_unpacked) throw too_much_to_unpack(path_, most_unpacked);
    memory_ = Bytes(decompress(path_, compression_, read_all().view(), most_unpacked));
    if (memory_.empty()) throw input_error(path_, "the archive holds an empty file");
    ::close(std::exchange(descriptor_, -1));
    size_ = memory_.size();
    head_ = read(0, std::min<std::uint64_t>(size_, kHead));
  } catch (...) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw;
  }
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string InputFile::format_name(const char* format) const {
  switch (compression_) {
    case Compression::kGzip:
      return fmt::format("{} (gzip)", format);
    case Compression::kBzip2:
      return fmt::format("{} (bzip2)", format);
    case Compression::kNone:
      break;
  }
  return format;
}

Bytes InputFile::read(std::uint64_t offset, std::uint64_t count) const {
  if (offset > size_ || count > size_ - offset) {
    throw input_error(path_,
                      fmt::format("the file is truncated: {} bytes at byte {} are expected, {} are present",
                                  count, offset, offset > size_ ? 0 : size_ - offset),
                      "copy it again, or wait until it is written");
  }
  if (!memory_.empty()) return memory_.slice(offset, count);
  Buffer buffer = allocate(path_, count);
  if (read_descriptor(path_, descriptor_, offset, buffer.view()) != count) {
    throw input_error(path_, "the file became shorter while it was read", "wait until it is written");
  }
  return std::move(buffer).freeze();
}

Bytes InputFile::map(std::uint64_t offset, std::uint64_t count) const {
  // Below, a copy is as fast.
  constexpr std::uint64_t kWorthMapping = 256 << 10;
  if (memory_.empty() && count >= kWorthMapping && offset <= size_ && count <= size_ - offset) {
    if (auto mapped = map_guarded(descriptor_, offset, count)) return *std::move(mapped);
  }
  return read(offset, count);
}

void InputFile::expect_read(std::uint64_t offset, std::uint64_t count) const {
  if (descriptor_ < 0 || count == 0) return;
  // If the last byte is in memory the rest is, and asking for it would take a tenth of the time to read it.
  std::byte last;
  const iovec place{&last, 1};
  const ssize_t found = ::preadv2(descriptor_, &place, 1, static_cast<off_t>(offset + count - 1), RWF_NOWAIT);
  if (found >= 0 || errno != EAGAIN) return;
  ::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(count), POSIX_FADV_WILLNEED);
}

std::size_t InputFile::read_some(std::uint64_t offset, std::span<std::byte> buffer) const {
  if (offset >= size_) return 0;
  if (memory_.empty()) return read_descriptor(path_, descriptor_, offset, buffer);
  const std::size_t count = std::min<std::uint64_t>(buffer.size(), size_ - offset);
  std::memcpy(buffer.data(), memory_.data() + offset, count);
  return count;
}

}  // namespace annulus
