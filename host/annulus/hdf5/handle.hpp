// HDF5 identifiers that close themselves, and the library's complaints as text.
#pragma once

#include <annulus/hdf5/lock.hpp>

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

namespace annulus {

// Held around HDF5 calls: the process-wide lock, an empty error stack, and the library's own printing of
// errors off; errors are thrown instead.
class Hdf5Session {
 public:
  Hdf5Session();
  ~Hdf5Session();
  Hdf5Session(const Hdf5Session&) = delete;
  Hdf5Session& operator=(const Hdf5Session&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  H5E_auto2_t printer_ = nullptr;
  void* printer_data_ = nullptr;
};

// An identifier and the call that gives it back.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    reset();
    id_ = std::exchange(other.id_, H5I_INVALID_HID);
    close_ = other.close_;
    return *this;
  }
  ~Hdf5Handle() { reset(); }

  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

  // False if HDF5 could not close it; the identifier is given up in any case.
  bool reset();

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

// What HDF5's error stack says went wrong first, as one line.
std::string hdf5_reason();

}  // namespace annulus
