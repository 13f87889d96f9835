// A thin, owning layer over the HDF5 C API: handles that close themselves, and the few calls that the
// writer and the reader of output files share. Every function expects an Hdf5Scope to be alive.
#pragma once

#include <hdf5.h>

#include <annulus/core/error.hpp>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace annulus {

// Holds the library's lock and keeps it from printing its error stack; errors are thrown instead.
class Hdf5Scope {
 public:
  Hdf5Scope();
  ~Hdf5Scope();
  Hdf5Scope(const Hdf5Scope&) = delete;
  Hdf5Scope& operator=(const Hdf5Scope&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  H5E_auto2_t printer_ = nullptr;
  void* printer_data_ = nullptr;
};

// An HDF5 identifier and the call that gives it back.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    reset();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
    return *this;
  }
  ~Handle() { reset(); }

  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

  // False if HDF5 could not close it; the identifier is given up in any case.
  bool reset() {
    const hid_t id = std::exchange(id_, -1);
    return id < 0 || close_(id) >= 0;
  }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

// What HDF5's error stack says went wrong first, as one line.
std::string hdf5_reason();

// The file that `object` lives in, for messages.
std::string file_name_of(hid_t object);

// Throws an error that names the file of `object` and HDF5's reason.
[[noreturn]] void throw_hdf5(ErrorKind kind, hid_t object, std::string_view what);

// Groups, scalars and attributes that are written once, when a file is created. They throw kOutput.
Handle create_group(hid_t parent, const std::string& name, const char* nx_class);
void write_attribute(hid_t object, const char* name, std::string_view text);
void write_attribute(hid_t object, const char* name, const std::vector<std::string>& texts);
void write_attribute(hid_t object, const char* name, double value);
void write_attribute(hid_t object, const char* name, std::int32_t value);
void write_text(hid_t parent, const std::string& name, std::string_view text);
void write_flag(hid_t parent, const char* name, bool value);  // an enumeration that h5py reads as a bool
Handle write_number(hid_t parent, const char* name, double value, const char* units);
Handle write_array(hid_t parent, const char* name, const std::vector<double>& values);
Handle write_array(hid_t parent, const char* name, const std::vector<std::int64_t>& values);

// Reading: nothing if the object is absent or of another kind.
std::optional<std::string> read_text(hid_t parent, const std::string& path);
std::optional<std::string> read_text_attribute(hid_t parent, const std::string& path, const char* name);
std::optional<std::vector<double>> read_doubles(hid_t parent, const std::string& path,
                                                std::size_t most_values);

// False for every step of the path that does not exist, without an error.
bool has_object(hid_t parent, const std::string& path);

}  // namespace annulus
