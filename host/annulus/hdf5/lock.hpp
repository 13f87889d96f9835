// The lock around HDF5, for programs that call HDF5 themselves beside this library.
#pragma once

#include <mutex>

namespace annulus {

// One lock for the whole process around every HDF5 call: the library is not thread safe as distributions
// build it, and readers and writers may run at the same time. Recursive, so that a locked function may call
// another.
[[nodiscard]] std::unique_lock<std::recursive_mutex> lock_hdf5();

}  // namespace annulus
