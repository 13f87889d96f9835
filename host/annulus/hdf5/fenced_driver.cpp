// An HDF5 file driver that reads, and opens only what a fence allows. The library opens the files that a file
// links to with the driver of that file: there is no other place that sees all of them.
#include <annulus/hdf5/link_fence.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

namespace annulus {
namespace {

struct Access {
  std::shared_ptr<const LinkFence> fence;
};

struct FencedFile : H5FD_t {
  std::shared_ptr<const LinkFence> fence;
  int descriptor = -1;
  haddr_t allocated = 0;  // HDF5's end of allocation
  haddr_t end = 0;        // end of the file
  dev_t device = 0;
  ino_t inode = 0;
};

constexpr haddr_t kLargestAddress = (haddr_t{1} << 62) - 1;
constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;

FencedFile& self(H5FD_t* file) { return *static_cast<FencedFile*>(file); }
const FencedFile& self(const H5FD_t* file) { return *static_cast<const FencedFile*>(file); }

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

int compare(const H5FD_t* left, const H5FD_t* right) {
  const FencedFile& a = self(left);
  const FencedFile& b = self(right);
  if (a.device != b.device) return a.device < b.device ? -1 : 1;
  if (a.inode != b.inode) return a.inode < b.inode ? -1 : 1;
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_POSIX_COMPAT_HANDLE | H5FD_FEAT_SUPPORTS_SWMR_IO |
           H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t get_allocated(const H5FD_t* base, H5FD_mem_t) { return self(base).allocated; }

herr_t set_allocated(H5FD_t* base, H5FD_mem_t, haddr_t address) {
  self(base).allocated = address;
  return 0;
}

haddr_t get_end(const H5FD_t* base, H5FD_mem_t) { return self(base).end; }

herr_t get_handle(H5FD_t* base, hid_t, void** handle) {
  *handle = &self(base).descriptor;
  return 0;
}

herr_t read_file(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* buffer) {
  const FencedFile& file = self(base);
  auto* bytes = static_cast<std::byte*>(buffer);
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::pread(file.descriptor, bytes + done, std::min(size - done, kLargestTransfer),
                                static_cast<off_t>(address + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      explain(std::strerror(errno));
      return -1;
    }
    if (got == 0) {  // HDF5 may ask beyond the end, and then expects zeros
      std::memset(bytes + done, 0, size - done);
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  return 0;
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

void* copy_access(const void* access) {
  return new (std::nothrow) Access(*static_cast<const Access*>(access));
}

herr_t free_access(void* access) {
  delete static_cast<Access*>(access);
  return 0;
}

const H5FD_class_t& driver_class() {
  static const H5FD_class_t driver = [] {
    H5FD_class_t c{};
    c.name = "annulus_fenced";
    c.maxaddr = kLargestAddress;
    c.fc_degree = H5F_CLOSE_WEAK;
    c.fapl_size = sizeof(Access);
    c.fapl_get = access_of;
    c.fapl_copy = copy_access;
    c.fapl_free = free_access;
    c.open = open_file;
    c.close = close_file;
    c.cmp = compare;
    c.query = query;
    c.get_eoa = get_allocated;
    c.set_eoa = set_allocated;
    c.get_eof = get_end;
    c.get_handle = get_handle;
    c.read = read_file;
    c.write = write_file;
    c.lock = lock_file;
    c.unlock = unlock_file;
    constexpr H5FD_mem_t kOneListForMetadata[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(kOneListForMetadata), std::end(kOneListForMetadata), c.fl_map);
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
