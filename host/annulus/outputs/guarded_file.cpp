#include <annulus/outputs/guarded_file.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

namespace annulus {
namespace {

struct Access {
  std::shared_ptr<WriteFault> fault;
};

// A write that did not reach the file, kept so that HDF5 reads back what it believes it wrote.
struct LostWrite {
  haddr_t address;
  std::vector<std::byte> bytes;
};

struct GuardedFile : H5FD_t {
  std::shared_ptr<WriteFault> fault;
  int descriptor = -1;
  haddr_t allocated = 0;  // HDF5's end of allocation
  haddr_t end = 0;        // end of the file
  dev_t device = 0;
  ino_t inode = 0;
  std::vector<LostWrite> lost;
};

// 2^62 is far beyond any data, so the lock meets only locks of this driver.
constexpr off_t kWriterLockAt = off_t{1} << 62;
constexpr haddr_t kLargestAddress = (haddr_t{1} << 62) - 1;
constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;
constexpr std::chrono::seconds kReadersPatience{2};
constexpr std::chrono::milliseconds kReadersPause{1};

GuardedFile& self(H5FD_t* file) { return *static_cast<GuardedFile*>(file); }
const GuardedFile& self(const H5FD_t* file) { return *static_cast<const GuardedFile*>(file); }

// HDF5 lets go of its own lock when SWMR writing begins, so that readers can open the file. This one stays.
// On NFS it would meet the readers' locks, which cover the whole file there.
bool hold_against_writers(int descriptor) {
  struct statfs filesystem {};
  if (fstatfs(descriptor, &filesystem) == 0 && filesystem.f_type == NFS_SUPER_MAGIC) return true;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kWriterLockAt;
  lock.l_len = 1;
  return fcntl(descriptor, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

// HDF5's own protocol: shared for readers, exclusive until SWMR writing begins. Not every file system has it.
// A viewer that looks at the file now and then holds it for a moment only, and is waited for.
bool lock_as_hdf5_does(int descriptor, bool exclusive, WriteFault& fault) {
  const auto until = std::chrono::steady_clock::now() + kReadersPatience;
  while (flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    // Readers are in the way of a writer, but not of another reader.
    const bool held_by_readers = exclusive && flock(descriptor, LOCK_SH | LOCK_NB) == 0;
    if (held_by_readers) flock(descriptor, LOCK_UN);
    if (held_by_readers && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(kReadersPause);
      continue;
    }
    fault.locked_out = true;
    fault.held_by_readers = held_by_readers;
    return false;
  }
  return true;
}

H5FD_t* open_file(const char* name, unsigned flags, hid_t access_list, haddr_t) {
  const auto* access = static_cast<const Access*>(H5Pget_driver_info(access_list));
  if (access == nullptr) return nullptr;
  WriteFault& fault = *access->fault;
  fault.locked_out = fault.held_by_readers = false;

  const bool writing = (flags & H5F_ACC_RDWR) != 0;
  int mode = (writing ? O_RDWR : O_RDONLY) | O_CLOEXEC;
  if ((flags & H5F_ACC_CREAT) != 0) mode |= O_CREAT;
  if ((flags & H5F_ACC_EXCL) != 0) mode |= O_EXCL;
  const int descriptor = ::open(name, mode, 0666);
  if (descriptor < 0) {
    fault.open_error = errno;
    return nullptr;
  }
  struct stat status {};
  bool usable = fstat(descriptor, &status) == 0;
  if (usable && writing && !hold_against_writers(descriptor)) {
    fault.locked_out = true;
    usable = false;
  }
  // Only when nobody else has it open: HDF5 itself asks for its lock after this, when all would be lost.
  const bool truncating = (flags & H5F_ACC_TRUNC) != 0;
  if (usable && truncating) usable = lock_as_hdf5_does(descriptor, true, fault);
  if (usable && truncating) {
    usable = ftruncate(descriptor, 0) == 0;
    status.st_size = 0;
  }
  auto* file = usable ? new (std::nothrow) GuardedFile() : nullptr;
  if (file == nullptr) {
    fault.open_error = errno;
    ::close(descriptor);
    return nullptr;
  }
  file->fault = access->fault;
  file->descriptor = descriptor;
  file->end = static_cast<haddr_t>(status.st_size);
  file->device = status.st_dev;
  file->inode = status.st_ino;
  return file;
}

void remember(WriteFault& fault, int error_number) {
  if (fault.error_number == 0) fault.error_number = error_number != 0 ? error_number : EIO;
}

// Network file systems report a full disk or a spent quota as late as here.
herr_t close_file(H5FD_t* base) {
  GuardedFile* file = &self(base);
  if (::close(file->descriptor) != 0 && errno != EINTR) remember(*file->fault, errno);
  delete file;
  return 0;
}

int compare(const H5FD_t* left, const H5FD_t* right) {
  const GuardedFile& a = self(left);
  const GuardedFile& b = self(right);
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
  GuardedFile& file = self(base);
  file.allocated = file.fault->adopt_tail ? std::max(address, file.end) : address;
  return 0;
}

haddr_t get_end(const H5FD_t* base, H5FD_mem_t) { return self(base).end; }

herr_t get_handle(H5FD_t* base, hid_t, void** handle) {
  *handle = &self(base).descriptor;
  return 0;
}

herr_t read_file(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* buffer) {
  GuardedFile& file = self(base);
  auto* bytes = static_cast<std::byte*>(buffer);
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = pread(file.descriptor, bytes + done, std::min(size - done, kLargestTransfer),
                              static_cast<off_t>(address + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) {  // HDF5 may ask beyond the end, and then expects zeros
      std::memset(bytes + done, 0, size - done);
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  for (const LostWrite& write : file.lost) {
    const haddr_t first = std::max(address, write.address);
    const haddr_t last = std::min(address + size, write.address + write.bytes.size());
    if (first < last) {
      std::memcpy(bytes + (first - address), write.bytes.data() + (first - write.address), last - first);
    }
  }
  return 0;
}

bool write_through(GuardedFile& file, haddr_t address, const std::byte* bytes, std::size_t size) {
  WriteFault& fault = *file.fault;
  if (fault.writes >= fault.fail_at_write) {
    errno = ENOSPC;
    return false;
  }
  for (std::size_t done = 0; done < size;) {
    const ssize_t put = pwrite(file.descriptor, bytes + done, std::min(size - done, kLargestTransfer),
                               static_cast<off_t>(address + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    done += static_cast<std::size_t>(put);
  }
  ++fault.writes;
  return true;
}

herr_t write_file(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t address, size_t size, const void* buffer) {
  GuardedFile& file = self(base);
  const auto* bytes = static_cast<const std::byte*>(buffer);
  if (!file.fault->failed() && !write_through(file, address, bytes, size)) remember(*file.fault, errno);
  if (file.fault->failed()) {
    try {
      file.lost.push_back({address, {bytes, bytes + size}});
    } catch (const std::bad_alloc&) {
      return -1;
    }
  }
  file.end = std::max(file.end, address + size);
  return 0;
}

herr_t truncate_file(H5FD_t* base, hid_t, hbool_t) {
  GuardedFile& file = self(base);
  if (file.allocated == file.end) return 0;
  if (!file.fault->failed() && ftruncate(file.descriptor, static_cast<off_t>(file.allocated)) != 0) {
    remember(*file.fault, errno);
  }
  file.end = file.allocated;
  return 0;
}

herr_t lock_file(H5FD_t* base, hbool_t exclusive) {
  GuardedFile& file = self(base);
  return lock_as_hdf5_does(file.descriptor, exclusive, *file.fault) ? 0 : -1;
}

// H5Fstart_swmr_write lets go of the lock and asks for it again before it lets go for good: a reader that
// comes in between would keep the writer out. begin_swmr_writing lets go, or closing does.
herr_t unlock_file(H5FD_t*) { return 0; }

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
    c.name = "annulus_guarded";
    c.maxaddr = kLargestAddress;
    c.fc_degree = H5F_CLOSE_WEAK;
    c.fapl_size = sizeof(Access);
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
    c.truncate = truncate_file;
    c.lock = lock_file;
    c.unlock = unlock_file;
    constexpr H5FD_mem_t kOneListForMetadata[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(kOneListForMetadata), std::end(kOneListForMetadata), c.fl_map);
    return c;
  }();
  return driver;
}

}  // namespace

void begin_swmr_writing(hid_t file) {
  if (H5Fstart_swmr_write(file) < 0) throw_hdf5(ErrorKind::kOutput, file, "cannot be opened to readers");
  void* descriptor = nullptr;
  if (H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor) < 0 || descriptor == nullptr) return;
  flock(*static_cast<int*>(descriptor), LOCK_UN);
}

void sync_to_disk(hid_t file, WriteFault& fault) {
  void* descriptor = nullptr;
  if (H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor) < 0 || descriptor == nullptr) return;
  // EINVAL, EROFS: a file system that has nothing to synchronise.
  if (fdatasync(*static_cast<int*>(descriptor)) != 0 && errno != EINVAL && errno != EROFS)
    remember(fault, errno);
}

Hdf5Handle guarded_access(std::shared_ptr<WriteFault> fault) {
  static hid_t driver = -1;
  if (driver < 0 || H5Iis_valid(driver) <= 0) driver = H5FDregister(&driver_class());
  const Access access{std::move(fault)};
  Hdf5Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (driver < 0 || !list || H5Pset_driver(list.get(), driver, &access) < 0 ||
      H5Pset_libver_bounds(list.get(), H5F_LIBVER_V110, H5F_LIBVER_LATEST) < 0) {
    throw Error(ErrorKind::kOutput, "HDF5", "the library refuses the file driver (" + hdf5_reason() + ")",
                "check that the HDF5 library is of version 1.10");
  }
  return list;
}

}  // namespace annulus
