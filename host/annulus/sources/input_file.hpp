// A file to read from, unpacked if it is a gzip or bzip2 archive.
//
// Files are read: one that another process truncates while it is mapped raises SIGBUS in its reader, and
// beamline files do change under their readers. A short read is an error with a message. Only who can look
// back when the work is done may map instead (core/guarded_mapping.hpp).
#pragma once

#include <annulus/core/bytes.hpp>
#include <annulus/sources/decompress.hpp>
#include <annulus/sources/frame_source.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace annulus {

// Reads may come from several threads at once.
class InputFile {
 public:
  // Throws kInput if the file is missing, empty, no plain file, not readable, or an archive that is damaged
  // or unpacks to more than so many bytes.
  explicit InputFile(std::string path, std::uint64_t most_unpacked = OpenOptions().most_unpacked);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // after unpacking
  Compression compression() const { return compression_; }

  // Memory that it takes as long as it is open: an archive's content, 0 otherwise.
  std::uint64_t bytes_held() const { return memory_.size(); }

  // "CBF" or "CBF (gzip)".
  std::string format_name(const char* format) const;

  // The first bytes, as many as there are up to kHead.
  static constexpr std::size_t kHead = 4096;
  std::span<const std::byte> head() const { return head_.view(); }
  const Bytes& head_bytes() const { return head_; }

  // `count` bytes at `offset`; throws kInput if the file is shorter.
  Bytes read(std::uint64_t offset, std::uint64_t count) const;
  Bytes read_all() const { return read(0, size_); }

  // The same bytes without a copy where that is possible: whoever uses them asks for intact() afterwards.
  Bytes map(std::uint64_t offset, std::uint64_t count) const;

  // Says that these bytes will be read soon, so that the system can fetch them meanwhile.
  void expect_read(std::uint64_t offset, std::uint64_t count) const;

  // Fills `buffer` from `offset` on as far as the file goes; the number of bytes read.
  std::size_t read_some(std::uint64_t offset, std::span<std::byte> buffer) const;

 private:
  std::string path_;
  int descriptor_ = -1;  // closed where memory_ holds the content
  std::uint64_t size_ = 0;
  Compression compression_ = Compression::kNone;
  Bytes memory_;
  Bytes head_;
};

}  // namespace annulus
