// A file that appears under its name complete or not at all, and takes the place of the one that was there.
// Any number of processes may write the same name at once: the last one's file stays.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace annulus {

class AtomicFile {
 public:
  // Opens a file of another name beside `path`. Removes those that writers of `path` left behind when they
  // were killed, an hour ago or more. Throws kOutput, as the others do.
  explicit AtomicFile(std::filesystem::path path);
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
