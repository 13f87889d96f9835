// Fields of a file that annulus writes in one go, images for example, read as they were written or not at
// all. Nothing that a damaged file says makes HDF5 follow a heap or convert a type. Expects an Hdf5Session to
// be alive.
#pragma once

#include <annulus/outputs/hdf5_fields.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

class CheckedFields {
 public:
  // Both live longer.
  CheckedFields(const std::filesystem::path& path, hid_t file) : path_(path), file_(file) {}

  hid_t file() const { return file_; }

  // Throws kInput: the file is damaged, or was not written by annulus.
  [[noreturn]] void refuse(const std::string& fault) const;

  // Of fixed length. Empty if there is none; refused if there is something else.
  std::string text(const std::string& path) const;
  std::string attribute(const std::string& path, const char* name) const;

  // At most so many numbers of 64 bits; refused if there is something else, or nothing.
  std::vector<double> doubles(const std::string& path, std::size_t most) const;

  bool holds(const std::string& path, hid_t type) const;
  bool has_extent(const std::string& path, const std::vector<std::size_t>& extent) const;

 private:
  const std::filesystem::path& path_;
  hid_t file_;
};

}  // namespace annulus
