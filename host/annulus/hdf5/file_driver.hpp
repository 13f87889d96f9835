// What the HDF5 file drivers of this library share: a file of the system, its sizes, and a table of
// functions.
#pragma once

#include <hdf5.h>
#include <sys/types.h>

#include <cstddef>
#include <new>

namespace annulus {

struct DriverFile : H5FD_t {
  int descriptor = -1;
  haddr_t allocated = 0;  // HDF5's end of allocation
  haddr_t end = 0;        // end of the file, as HDF5 knows it
  dev_t device = 0;
  ino_t inode = 0;
};

// Far beyond any data.
inline constexpr int kAddressBits = 62;
inline constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;  // of one call of the system

// Zeros beyond the end, which HDF5 may ask for. False with errno.
bool read_at(int descriptor, haddr_t address, std::byte* bytes, std::size_t size);

// 0 if both are the same file of the system; otherwise an order.
int compare_files(const H5FD_t* left, const H5FD_t* right);

// A driver of DriverFiles that can tell them apart and knows their sizes. Its functions for opening, closing,
// reading, writing and locking are for the caller to add.
H5FD_class_t basic_driver(const char* name);

// What comes with a file access list, copied as HDF5 copies the list.
template <typename Access>
void add_access(H5FD_class_t& driver) {
  driver.fapl_size = sizeof(Access);
  driver.fapl_copy = [](const void* access) -> void* {
    return new (std::nothrow) Access(*static_cast<const Access*>(access));
  };
  driver.fapl_free = [](void* access) -> herr_t {
    delete static_cast<Access*>(access);
    return 0;
  };
}

}  // namespace annulus
