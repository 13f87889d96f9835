// Opening HDF5 files, also those that somebody is writing, and the datasets behind their links.
// Used with the HDF5 lock held.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/core/url.hpp>
#include <annulus/hdf5/handle.hpp>
#include <annulus/hdf5/link_fence.hpp>

#include <memory>
#include <optional>
#include <string>

namespace annulus {

// A fault of a file that is read, with the words of the library: "what: HDF5 says ...", as kInput. Within an
// Hdf5Session.
Error hdf5_error(const std::string& where, const std::string& what, const std::string& cure = {});

// Of the file that the user named: all that it leads to is opened through it.
using Fence = std::shared_ptr<const LinkFence>;

// Throws kInput.
Hdf5Handle open_hdf5_file(const std::string& path, const Fence& fence);

// The file that `linking` calls `name`: by its absolute name, in the folder of the variable, that of the file
// with the link, the working directory, or that of the file itself if `linking` is a symbolic link. A link by
// an absolute name may also have moved with its file.
std::optional<std::string> find_linked_file(const std::string& linking, const std::string& name,
                                            const char* prefix_variable = "HDF5_EXT_PREFIX");

// Throws kInput, naming `where`, unless the fence lets `where` lead to `path`.
void check_fence(const std::string& where, const std::string& path, const LinkFence& fence);

// A dataset by the file that really holds it.
struct DatasetPlace {
  std::string file;
  std::string path;

  std::string url() const { return join_url(file, path); }
  bool operator==(const DatasetPlace&) const = default;
};

// The names in an external link, as they are; none if `path` is no such link.
std::optional<DatasetPlace> external_target(hid_t file, const std::string& path);

// Where `path` of the open file leads to, link by link: elsewhere for external ones, whose files are looked
// for as HDF5 does. Throws kInput with the name of a file that is missing or may not be read.
DatasetPlace locate_dataset(hid_t file, const std::string& file_path, const std::string& path,
                            const Fence& fence);

}  // namespace annulus
