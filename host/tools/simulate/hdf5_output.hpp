// HDF5 files of simulated scans: what their writers share. Used with the HDF5 lock held.
#pragma once

#include <annulus/hdf5/handle.hpp>

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace annulus {

// Throws kOutput with HDF5's innermost message, which says why: the disk is full, permission is denied.
[[noreturn]] void fail_writing(const std::filesystem::path& path);

// An identifier that HDF5 must have given.
Hdf5Handle checked(hid_t id, Hdf5Handle::Close close, const std::filesystem::path& path);

// Properties of a dataset without the time of its making: the same scan gives the same bytes.
Hdf5Handle timeless(const std::filesystem::path& path);

// Small things beside the frames: groups with their NeXus class, texts and numbers.
class Describer {
 public:
  explicit Describer(const std::filesystem::path& path) : path_(path) {}

  Hdf5Handle group(hid_t parent, const char* name, const char* nexus_class) const;
  void attribute(hid_t object, const char* name, const std::string& text) const;
  void attribute(hid_t object, const char* name, std::int64_t value) const;
  void attribute(hid_t object, const char* name, const std::vector<std::string>& texts) const;
  void text(hid_t parent, const char* name, const std::string& text) const;
  void number(hid_t parent, const char* name, double value, const char* units) const;
  void number(hid_t parent, const char* name, std::int64_t value) const;
  void texts(hid_t parent, const char* name, const std::vector<std::string>& texts) const;
  // extent: as many as there are values; empty: one dimension. units: nullptr if they have none.
  void numbers(hid_t parent, const char* name, const std::vector<double>& values, const char* units,
               const std::vector<hsize_t>& extent = {}) const;

 private:
  Hdf5Handle text_type(std::size_t size) const;
  void dataset(hid_t parent, const char* name, hid_t type, const Hdf5Handle& space, const void* values,
               const char* units) const;
  Hdf5Handle scalar() const;

  const std::filesystem::path& path_;
};

// A file that has another name until it is complete. An incomplete one is removed.
class PartialFile {
 public:
  explicit PartialFile(const std::filesystem::path& path);  // throws kOutput
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  hid_t get() const { return file_.get(); }
  const std::filesystem::path& path() const { return path_; }

  // Every other handle is closed by then. The file gets its name. Throws kOutput.
  void close();

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_;
  Hdf5Handle file_;
};

}  // namespace annulus
