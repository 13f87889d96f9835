// An HDF5 file driver that reads, and opens only what a fence allows. The library opens the files that a file
// links to with the driver of that file: there is no other place that sees all of them.
#include <annulus/hdf5/file_driver.hpp>
#include <annulus/hdf5/link_fence.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

namespace annulus {
namespace {

struct Access {
  std::shared_ptr<const LinkFence> fence;
};

struct FencedFile : DriverFile {
  std::shared_ptr<const LinkFence> fence;
};

FencedFile& self(H5FD_t* file) { return *static_cast<FencedFile*>(file); }

// What hdf5_reason() gives when the library gives up.
void explain(const char* line) {
  H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_FILE, H5E_CANTOPENFILE, "%s", line);
}

H5FD_t* open_file(const char* name, unsigned flags, hid_t access_list, haddr_t) {
  const auto* access = static_cast<const Access*>(H5Pget_driver_info(access_list));
  if (access == nullptr || (flags & (H5F_ACC_RDWR | H5F_ACC_CREAT | H5F_ACC_TRUNC)) != 0) return nullptr;
  if (!access->fence->allows(name)) {
    explain("the file lies outside the folders that may be read");
    return nullptr;
  }
  // Not blocking: a pipe that nobody writes to must not hang.
  const int descriptor = ::open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    explain(std::strerror(errno));
    return nullptr;
  }
  struct stat status {};
  const bool usable = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  auto* file = usable ? new (std::nothrow) FencedFile() : nullptr;
  if (file == nullptr) {
    explain("it is not a plain file");
    ::close(descriptor);
    return nullptr;
  }
  file->fence = access->fence;
  file->descriptor = descriptor;
  file->end = static_cast<haddr_t>(status.st_size);
  file->device = status.st_dev;
  file->inode = status.st_ino;
  return file;
}

herr_t close_file(H5FD_t* base) {
  FencedFile* file = &self(base);
  ::close(file->descriptor);
  delete file;
  return 0;
}

// Who opens a file through a fence of his own sees it as it is now, not as others have it open.
int compare(const H5FD_t* left, const H5FD_t* right) {
  const LinkFence* const a = static_cast<const FencedFile*>(left)->fence.get();
  const LinkFence* const b = static_cast<const FencedFile*>(right)->fence.get();
  if (a != b) return std::less<>()(a, b) ? -1 : 1;
  return compare_files(left, right);
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_POSIX_COMPAT_HANDLE | H5FD_FEAT_SUPPORTS_SWMR_IO |
           H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

herr_t read_file(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* buffer) {
  if (read_at(self(base).descriptor, address, static_cast<std::byte*>(buffer), size)) return 0;
  explain(std::strerror(errno));
  return -1;
}

herr_t write_file(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) { return -1; }

// HDF5's own protocol; not every file system has it.
herr_t lock_file(H5FD_t* base, hbool_t exclusive) {
  const int how = (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
  if (::flock(self(base).descriptor, how) == 0 || errno != EWOULDBLOCK) return 0;
  explain("another program is writing it");
  return -1;
}

herr_t unlock_file(H5FD_t* base) {
  ::flock(self(base).descriptor, LOCK_UN);
  return 0;
}

// What the library opens linked files with.
void* access_of(H5FD_t* base) { return new (std::nothrow) Access{self(base).fence}; }

const H5FD_class_t& driver_class() {
  static const H5FD_class_t driver = [] {
    H5FD_class_t c = basic_driver("annulus_fenced");
    add_access<Access>(c);
    c.fapl_get = access_of;
    c.open = open_file;
    c.close = close_file;
    c.cmp = compare;
    c.query = query;
    c.read = read_file;
    c.write = write_file;
    c.lock = lock_file;
    c.unlock = unlock_file;
    return c;
  }();
  return driver;
}

}  // namespace

bool set_fence(hid_t access_list, std::shared_ptr<const LinkFence> fence) {
  static hid_t driver = -1;
  if (driver < 0 || H5Iis_valid(driver) <= 0) driver = H5FDregister(&driver_class());
  const Access access{std::move(fence)};
  return driver >= 0 && H5Pset_driver(access_list, driver, &access) >= 0;
}

}  // namespace annulus
