// Where the files may lie that an HDF5 file leads to. Links, virtual datasets and raw files beside a file
// name any file that the user may read, and its bytes would be taken for pixels.
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

// A folder out of a variable of HDF5's: a leading ${ORIGIN} means that of the file.
std::string with_origin(std::string folder, const std::string& file);

// Made for one file that the user names; used by several threads.
class LinkFence {
 public:
  // Allowed are the folder of `file` and all below it, that of the file itself if the name is a symbolic
  // link, the folders that HDF5's own variables name, and `allowed`, if it is not empty.
  explicit LinkFence(const std::string& file, const std::string& allowed = {});

  // Symbolic links are followed before the answer. What is refused is remembered.
  bool allows(const std::string& path) const;

  // The first file that was refused.
  std::optional<std::string> refused() const;

 private:
  std::vector<std::filesystem::path> folders_;
  mutable std::mutex mutex_;
  mutable std::optional<std::string> refused_;
};

// Makes a file access list open files through the fence: the file itself, and those to which the library
// follows its links.
bool set_fence(hid_t access_list, std::shared_ptr<const LinkFence> fence);

}  // namespace annulus
