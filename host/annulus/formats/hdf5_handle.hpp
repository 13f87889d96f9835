// HDF5 identifiers that close themselves, and the library's complaints as text.
#pragma once

#include <hdf5.h>

#include <annulus/core/error.hpp>
#include <annulus/core/hdf5_lock.hpp>
#include <mutex>
#include <string>
#include <utility>

namespace annulus {

class H5Handle {
 public:
  using Close = herr_t (*)(hid_t);

  H5Handle() = default;
  H5Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~H5Handle() { reset(); }
  H5Handle(H5Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  H5Handle& operator=(H5Handle&& other) noexcept {
    reset();
    id_ = std::exchange(other.id_, H5I_INVALID_HID);
    close_ = other.close_;
    return *this;
  }

  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  void reset() {
    if (id_ < 0) return;
    const auto lock = lock_hdf5();
    close_(std::exchange(id_, H5I_INVALID_HID));
  }

  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

// Held around HDF5 calls: the process-wide lock, with the library's own printing of errors off.
class H5Session {
 public:
  H5Session();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

// "what: the library's innermost message", as kInput; clears the library's error stack.
Error hdf5_error(const std::string& where, const std::string& what, const std::string& cure = {});

}  // namespace annulus
