// A folder for files that nobody needs afterwards; gone with everything in it at the end.
#pragma once

#include <filesystem>

namespace annulus {

class ScratchFolder {
 public:
  // In `parent`, or where the system keeps temporary files if that is empty. Throws kOutput.
  explicit ScratchFolder(const std::filesystem::path& parent);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace annulus
