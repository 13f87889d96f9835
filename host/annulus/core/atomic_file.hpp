// A file that appears under its name complete or not at all, and takes the place of the one that was there.
// Any number of processes may write the same name at once: the last one's file stays.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace annulus {

// A name beside `path`, which nobody can foresee, for a file that gets its own name when it is complete. It
// is to be created exclusively; if it is there all the same, the next attempt's.
std::filesystem::path temporary_name(const std::filesystem::path& path, int attempt);

// Removes files with temporary names of `path` whose writers were killed: an hour old or more.
void remove_abandoned(const std::filesystem::path& path);

// Brings the name of a file to the disk. A file system that cannot do that has the file, and may lose its
// name with the power.
void sync_folder_of(const std::filesystem::path& path);

// Renames a file. Returns errno, or 0. Without `replacing` EEXIST where there is one of that name, also if it
// appeared a moment ago.
int give_name(const std::filesystem::path& from, const std::filesystem::path& to, bool replacing);

// A new file of such a name, open for writing: never one that was there, nor where a link leads. What is made
// of it is up to the caller. The descriptor is -1, and errno says why, where it cannot be created.
struct TemporaryFile {
  std::filesystem::path name;
  int descriptor = -1;
};
TemporaryFile create_temporary(const std::filesystem::path& path, mode_t mode = 0666);

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
