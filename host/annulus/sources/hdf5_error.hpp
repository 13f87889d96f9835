// Faults of HDF5 files that are read, with the library's own words.
#pragma once

#include <annulus/core/error.hpp>
#include <annulus/hdf5/handle.hpp>

#include <string>

namespace annulus {

// "what: HDF5 says ...", as kInput. Within an Hdf5Session.
Error hdf5_error(const std::string& where, const std::string& what, const std::string& cure = {});

}  // namespace annulus
