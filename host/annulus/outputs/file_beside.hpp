// An output that is written under a name beside its own, and takes its place when it is complete: until then
// what was there stays.
#pragma once

#include <filesystem>

namespace annulus {

class FileBeside {
 public:
  // Nothing is created yet. Throws kOutput if there may be no output of this name, as open_nexus() does.
  FileBeside(const std::filesystem::path& path, bool overwrite);
  ~FileBeside();  // removes what did not take its place
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;

  const std::filesystem::path& name() const { return name_; }

  // The file is closed and on the disk. Throws kOutput.
  void take_place();

 private:
  std::filesystem::path place_;
  std::filesystem::path name_;
  bool replaces_;
};

}  // namespace annulus
