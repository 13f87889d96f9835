#include <annulus/hdf5/file_driver.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace annulus {
namespace {

DriverFile& of(H5FD_t* file) { return *static_cast<DriverFile*>(file); }
const DriverFile& of(const H5FD_t* file) { return *static_cast<const DriverFile*>(file); }

haddr_t allocated_end(const H5FD_t* file, H5FD_mem_t) { return of(file).allocated; }

herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  of(file).allocated = address;
  return 0;
}

haddr_t file_end(const H5FD_t* file, H5FD_mem_t) { return of(file).end; }

herr_t descriptor_of(H5FD_t* file, hid_t, void** handle) {
  *handle = &of(file).descriptor;
  return 0;
}

}  // namespace

int compare_files(const H5FD_t* left, const H5FD_t* right) {
  const DriverFile& a = of(left);
  const DriverFile& b = of(right);
  if (a.device != b.device) return a.device < b.device ? -1 : 1;
  if (a.inode != b.inode) return a.inode < b.inode ? -1 : 1;
  return 0;
}

bool read_at(int descriptor, haddr_t address, std::byte* bytes, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::pread(descriptor, bytes + done, std::min(size - done, kLargestTransfer),
                                static_cast<off_t>(address + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) {
      std::memset(bytes + done, 0, size - done);
      return true;
    }
    done += static_cast<std::size_t>(got);
  }
  return true;
}

H5FD_class_t basic_driver(const char* name) {
  H5FD_class_t driver{};
  driver.name = name;
  driver.maxaddr = (haddr_t{1} << kAddressBits) - 1;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.cmp = compare_files;
  driver.get_eoa = allocated_end;
  driver.set_eoa = set_allocated_end;
  driver.get_eof = file_end;
  driver.get_handle = descriptor_of;
  constexpr H5FD_mem_t kOneListForMetadata[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kOneListForMetadata), std::end(kOneListForMetadata), driver.fl_map);
  return driver;
}

}  // namespace annulus
