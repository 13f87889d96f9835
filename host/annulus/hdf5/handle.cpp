#include <annulus/hdf5/handle.hpp>

namespace annulus {
namespace {

// Entry 0 of an upward walk is where the fault happened; the others are its callers.
herr_t take_innermost(unsigned position, const H5E_error2_t* entry, void* text) {
  if (position == 0 && entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
  return 0;
}

}  // namespace

std::unique_lock<std::recursive_mutex> lock_hdf5() {
  // Never destroyed: objects that close HDF5 handles may outlive other statics.
  static auto* mutex = new std::recursive_mutex;
  return std::unique_lock(*mutex);
}

Hdf5Session::Hdf5Session() : lock_(lock_hdf5()) {
  H5Eget_auto2(H5E_DEFAULT, &printer_, &printer_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5Eclear2(H5E_DEFAULT);
}

Hdf5Session::~Hdf5Session() {
  // A thread that ends with reasons on its stack keeps the library from closing.
  H5Eclear2(H5E_DEFAULT);
  H5Eset_auto2(H5E_DEFAULT, printer_, printer_data_);
}

bool Hdf5Handle::reset() {
  if (id_ < 0) return true;
  const auto lock = lock_hdf5();
  return close_(std::exchange(id_, H5I_INVALID_HID)) >= 0;
}

std::string hdf5_reason() {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &reason);
  return reason.empty() ? "HDF5 gives no reason" : reason;
}

}  // namespace annulus
