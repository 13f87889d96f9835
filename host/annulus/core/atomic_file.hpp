// A file that appears under its name complete or not at all, and takes the place of the one that was there.
// Any number of processes may write the same name at once: the last one's file stays.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace annulus {

// A name beside `path` for a file that gets its own name when it is complete. Another thread, or a process
// with our number on another machine, may have it: then the next attempt's.
std::filesystem::path temporary_name(const std::filesystem::path& path, int attempt);

// Removes files with temporary names of `path` whose writers were killed: an hour old or more.
void remove_abandoned(const std::filesystem::path& path);

// Brings the name of a file to the disk. A file system that cannot do that has the file, and may lose its
// name with the power.
void sync_folder_of(const std::filesystem::path& path);

class AtomicFile {
 public:
  // Opens a file of a temporary name, and removes abandoned ones. Throws kOutput, as the others do. What the
  // umask forbids is taken from the mode.
  explicit AtomicFile(std::filesystem::path path, mode_t mode = 0666);
  ~AtomicFile();  // what is not committed is removed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);

  // Brings all of it to the disk, then gives it its name.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

}  // namespace annulus
