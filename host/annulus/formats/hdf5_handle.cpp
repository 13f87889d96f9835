#include <annulus/formats/hdf5_handle.hpp>
#include <annulus/formats/header_text.hpp>

namespace annulus {
namespace {

// Entry 0 of an upward walk is where the fault happened; the others are its callers.
herr_t take_innermost(unsigned position, const H5E_error2_t* entry, void* text) {
  if (position == 0 && entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
  return 0;
}

}  // namespace

H5Session::H5Session() : lock_(lock_hdf5()) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5Eclear2(H5E_DEFAULT);
}

Error hdf5_error(const std::string& where, const std::string& what, const std::string& cure) {
  std::string message;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &message);
  H5Eclear2(H5E_DEFAULT);
  if (!message.empty()) message = ": HDF5 says \"" + printable(message, 300) + "\"";
  return Error(ErrorKind::kInput, where, what + message, cure);
}

}  // namespace annulus
