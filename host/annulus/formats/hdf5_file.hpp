// Opening HDF5 files, also those that somebody is writing, and the datasets behind their links.
// Used with the HDF5 lock held.
#pragma once

#include <annulus/formats/hdf5_error.hpp>

#include <optional>
#include <string>

namespace annulus {

// Throws kInput.
Hdf5Handle open_hdf5_file(const std::string& path);

// A dataset by the file that really holds it.
struct DatasetPlace {
  std::string file;
  std::string path;

  std::string url() const { return file + "::" + path; }
  bool operator==(const DatasetPlace&) const = default;
};

// The names in an external link, as they are; none if `path` is no such link.
std::optional<DatasetPlace> external_target(hid_t file, const std::string& path);

// Where `path` of the open file leads to: elsewhere for an external link, whose file is looked for as HDF5
// does. Throws kInput with that file's name if it is missing.
DatasetPlace locate_dataset(hid_t file, const std::string& file_path, const std::string& path);

}  // namespace annulus
