#include <annulus/sources/hdf5_error.hpp>
#include <annulus/sources/header_text.hpp>

namespace annulus {

Error hdf5_error(const std::string& where, const std::string& what, const std::string& cure) {
  return Error(ErrorKind::kInput, where, what + ": HDF5 says \"" + printable(hdf5_reason(), 300) + "\"",
               cure);
}

}  // namespace annulus
