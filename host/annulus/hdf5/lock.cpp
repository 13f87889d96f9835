#include <annulus/hdf5/lock.hpp>

namespace annulus {

std::unique_lock<std::recursive_mutex> lock_hdf5() {
  // Never destroyed: objects that close HDF5 handles may outlive other statics.
  static auto* mutex = new std::recursive_mutex;
  return std::unique_lock(*mutex);
}

}  // namespace annulus
