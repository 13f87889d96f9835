#include <annulus/hdf5/file_driver.hpp>
#include <annulus/outputs/guarded_file.hpp>

#include <fcntl.h>
#include <fmt/core.h>
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
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace annulus {
namespace {

struct Access {
  std::shared_ptr<WriteFault> fault;
};

}  // namespace

struct GuardedFile : DriverFile {
  // A write that has not reached the file: HDF5 reads back what it believes it wrote.
  struct HeldWrite {
    haddr_t address;
    std::vector<std::byte> bytes;
  };

  // Parts of the file, none of which touches another.
  class Ranges {
   public:
    bool overlap(haddr_t first, haddr_t last) const {
      const auto next = ranges_.lower_bound(last);
      return next != ranges_.begin() && std::prev(next)->second > first;
    }

    void add(haddr_t first, haddr_t last) {
      auto next = ranges_.upper_bound(last);
      while (next != ranges_.begin() && std::prev(next)->second >= first) {
        const auto touching = std::prev(next);
        first = std::min(first, touching->first);
        last = std::max(last, touching->second);
        next = ranges_.erase(touching);
      }
      ranges_[first] = last;
    }

   private:
    std::map<haddr_t, haddr_t> ranges_;  // where each begins and ends
  };

  std::shared_ptr<WriteFault> fault;
  int direct = -1;  // the same file, for writes that pass by the system's memory; none if the system has none
  haddr_t reached = 0;              // end of the file as the system knows it: what is held may lie behind it
  Ranges written;                   // what may be pointed to
  std::vector<HeldWrite> held;      // until the next commit, or for ever after a failure
  bool ordered = false;             // readers are there: held writes keep the order of HDF5
  bool unsynchronised = false;      // something was written since the last fdatasync
  bool new_unsynchronised = false;  // where nothing had been before
  // Metadata that was written since the file was opened. HDF5 needs it to close a file that another program
  // has cut short.
  struct KeptObject {
    std::uint64_t age;  // counted from the first
    std::vector<std::byte> bytes;
  };
  std::map<haddr_t, KeptObject> metadata;
  std::uint64_t kept_objects = 0;
  std::optional<haddr_t> shrink_to;  // by the next commit, when nothing points to what is behind
};

namespace {

// Beyond any data, so the lock meets only locks of this driver.
constexpr off_t kWriterLockAt = off_t{1} << kAddressBits;
constexpr hsize_t kPage = 4096;  // what disks and systems write as a whole
constexpr std::size_t kWorthDirect = std::size_t{1} << 20;
constexpr std::chrono::seconds kReadersPatience{2};
constexpr std::chrono::milliseconds kReadersPause{1};

GuardedFile& self(H5FD_t* file) { return *static_cast<GuardedFile*>(file); }

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

// Cakes come in megabytes, and all of them are on the disk at the next flush. Copied to the system's memory
// first, they take more of the processors than to be made; the disk fetches them from where they are. A
// network file system collects and sends writes better than that, so this is for file systems that are known.
int open_direct(int descriptor) {
  struct statfs filesystem {};
  if (fstatfs(descriptor, &filesystem) != 0) return -1;
  if (filesystem.f_type != EXT4_SUPER_MAGIC && filesystem.f_type != XFS_SUPER_MAGIC) return -1;
  return ::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), O_WRONLY | O_CLOEXEC | O_DIRECT);
}

// While a file is being replaced by one of the same name, the old one may still be opened.
bool has_name(const char* name, const struct stat& status) {
  struct stat named {};
  return ::stat(name, &named) == 0 && named.st_dev == status.st_dev && named.st_ino == status.st_ino;
}

H5FD_t* open_file(const char* name, unsigned flags, hid_t access_list, haddr_t) {
  const auto* access = static_cast<const Access*>(H5Pget_driver_info(access_list));
  if (access == nullptr) return nullptr;
  WriteFault& fault = *access->fault;
  fault.locked_out = fault.held_by_readers = false;

  const bool writing = (flags & H5F_ACC_RDWR) != 0;
  int mode = (writing ? O_RDWR : O_RDONLY) | O_CLOEXEC;
  if ((flags & H5F_ACC_CREAT) != 0) mode |= O_CREAT | O_EXCL;
  const int descriptor = ::open(name, mode, 0666);
  if (descriptor < 0) {
    fault.open_error = errno;
    return nullptr;
  }
  struct stat status {};
  bool usable = fstat(descriptor, &status) == 0;
  if (usable && writing && (!hold_against_writers(descriptor) || !has_name(name, status))) {
    fault.locked_out = true;
    usable = false;
  }
  auto* file = usable ? new (std::nothrow) GuardedFile() : nullptr;
  if (file == nullptr) {
    fault.open_error = errno;
    ::close(descriptor);
    return nullptr;
  }
  file->fault = access->fault;
  file->descriptor = descriptor;
  if (writing) file->direct = open_direct(descriptor);
  file->end = file->reached = static_cast<haddr_t>(status.st_size);
  file->device = status.st_dev;
  file->inode = status.st_ino;
  if (file->end > 0) file->written.add(0, file->end);
  fault.file = file;
  return file;
}

void remember(WriteFault& fault, int error_number) {
  if (fault.error_number == 0) fault.error_number = error_number != 0 ? error_number : EIO;
}

bool synchronise(GuardedFile& file) {
  if (!file.unsynchronised) return true;
  // EINVAL, EROFS: a file system that has nothing to synchronise.
  if (fdatasync(file.descriptor) != 0 && errno != EINVAL && errno != EROFS) {
    remember(*file.fault, errno);
    return false;
  }
  file.unsynchronised = file.new_unsynchronised = false;
  return true;
}

// What another program cut off comes back as zeros with the next write behind it: so every write looks.
bool is_whole(GuardedFile& file) {
  if (file.fault->failed()) return false;
  struct stat status {};
  if (fstat(file.descriptor, &status) != 0) {
    remember(*file.fault, errno);
  } else if (static_cast<haddr_t>(status.st_size) < file.reached) {
    file.fault->cut_short = true;
    remember(*file.fault, EIO);
  }
  return !file.fault->failed();
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  // No accumulation of metadata: every object is written for itself.
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA |
           H5FD_FEAT_POSIX_COMPAT_HANDLE | H5FD_FEAT_SUPPORTS_SWMR_IO | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

herr_t set_allocated(H5FD_t* base, H5FD_mem_t, haddr_t address) {
  GuardedFile& file = self(base);
  file.allocated = file.fault->adopt_tail ? std::max(address, file.end) : address;
  return 0;
}

// What `kept` holds of a part of the file.
void overlay(haddr_t kept_at, const std::vector<std::byte>& kept, haddr_t address, std::byte* bytes,
             size_t size) {
  const haddr_t first = std::max(address, kept_at);
  const haddr_t last = std::min(address + size, kept_at + kept.size());
  if (first < last) std::memcpy(bytes + (first - address), kept.data() + (first - kept_at), last - first);
}

// An object may lie where a part of another was before.
std::vector<std::pair<haddr_t, const GuardedFile::KeptObject*>> by_age(const GuardedFile& file) {
  std::vector<std::pair<haddr_t, const GuardedFile::KeptObject*>> objects;
  for (const auto& [address, object] : file.metadata) objects.emplace_back(address, &object);
  std::ranges::sort(objects, {}, [](const auto& entry) { return entry.second->age; });
  return objects;
}

herr_t read_file(H5FD_t* base, H5FD_mem_t type, hid_t, haddr_t address, size_t size, void* buffer) {
  GuardedFile& file = self(base);
  auto* bytes = static_cast<std::byte*>(buffer);
  const bool metadata = type != H5FD_MEM_DRAW;
  if (metadata) is_whole(file);
  if (!read_at(file.descriptor, address, bytes, size)) return -1;
  try {
    if (file.fault->cut_short) {
      for (const auto& [kept_at, object] : by_age(file))
        overlay(kept_at, object->bytes, address, bytes, size);
    }
    for (const GuardedFile::HeldWrite& write : file.held)
      overlay(write.address, write.bytes, address, bytes, size);
    if (!metadata || file.fault->cut_short) return 0;
    file.metadata.try_emplace(address, GuardedFile::KeptObject{++file.kept_objects, {bytes, bytes + size}});
  } catch (const std::bad_alloc&) {
    return -1;
  }
  return 0;
}

// As much of a write as can go straight from memory to the disk: whole pages of one that is large enough to
// be worth it. Returns the bytes; whatever is wrong, the ordinary write of the rest finds out.
std::size_t write_directly(const GuardedFile& file, haddr_t address, const std::byte* bytes,
                           std::size_t size) {
  const auto place = reinterpret_cast<std::uintptr_t>(bytes);
  if (file.direct < 0 || size < kWorthDirect || address % kPage != 0 || place % kPage != 0) return 0;
  const std::size_t whole_pages = std::min(size, kLargestTransfer) / kPage * kPage;
  const ssize_t put = pwrite(file.direct, bytes, whole_pages, static_cast<off_t>(address));
  return put > 0 ? static_cast<std::size_t>(put) : 0;
}

bool write_through(GuardedFile& file, haddr_t address, const std::byte* bytes, std::size_t size) {
  WriteFault& fault = *file.fault;
  if (!is_whole(file)) return false;
  if (fault.writes >= fault.fail_at_write) {
    remember(fault, ENOSPC);
    return false;
  }
  file.unsynchronised = true;
  for (std::size_t done = write_directly(file, address, bytes, size); done < size;) {
    const ssize_t put = pwrite(file.descriptor, bytes + done, std::min(size - done, kLargestTransfer),
                               static_cast<off_t>(address + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      remember(fault, errno);
      return false;
    }
    done += static_cast<std::size_t>(put);
  }
  ++fault.writes;
  file.reached = std::max(file.reached, address + size);
  return true;
}

// Until readers are there, only the last state of an object counts: a superblock that says for a moment that
// its writer lets no reader in never reaches the file.
void hold(GuardedFile& file, haddr_t address, const std::byte* bytes, std::size_t size) {
  if (!file.ordered) {
    std::erase_if(file.held, [&](const GuardedFile::HeldWrite& write) {
      return write.address == address && write.bytes.size() == size;
    });
  }
  file.held.push_back({address, {bytes, bytes + size}});
}

herr_t write_file(H5FD_t* base, H5FD_mem_t type, hid_t, haddr_t address, size_t size, const void* buffer) {
  GuardedFile& file = self(base);
  const auto* bytes = static_cast<const std::byte*>(buffer);
  try {
    const bool replaces = file.written.overlap(address, address + size);
    const bool waits = replaces && type != H5FD_MEM_DRAW;
    if (!file.fault->failed() && !replaces) file.new_unsynchronised = true;
    if (file.fault->failed() || waits || !write_through(file, address, bytes, size)) {
      hold(file, address, bytes, size);
    }
    file.written.add(address, address + size);
    if (type != H5FD_MEM_DRAW) {
      file.metadata.insert_or_assign(address,
                                     GuardedFile::KeptObject{++file.kept_objects, {bytes, bytes + size}});
    }
  } catch (const std::bad_alloc&) {
    return -1;
  }
  file.end = std::max(file.end, address + size);
  return 0;
}

bool set_length(GuardedFile& file, haddr_t length) {
  if (!is_whole(file)) return false;
  file.unsynchronised = true;
  if (ftruncate(file.descriptor, static_cast<off_t>(length)) == 0) {
    file.reached = length;
    return true;
  }
  remember(*file.fault, errno);
  return false;
}

herr_t truncate_file(H5FD_t* base, hid_t, hbool_t) {
  GuardedFile& file = self(base);
  file.shrink_to.reset();
  if (file.allocated < file.end) {
    file.shrink_to = file.allocated;
  } else if (file.allocated > file.end && !file.fault->failed()) {
    set_length(file, file.allocated);
    file.end = file.allocated;
  }
  return 0;
}

herr_t lock_file(H5FD_t* base, hbool_t exclusive) {
  GuardedFile& file = self(base);
  return lock_as_hdf5_does(file.descriptor, exclusive, *file.fault) ? 0 : -1;
}

// H5Fstart_swmr_write lets go of the lock and asks for it again before it lets go for good: a reader that
// comes in between would keep the writer out. begin_swmr_writing lets go, or closing does.
herr_t unlock_file(H5FD_t*) { return 0; }

// Network file systems report a full disk or a spent quota as late as here.
herr_t close_file(H5FD_t* base) {
  GuardedFile* file = &self(base);
  commit(*file->fault);
  if (file->direct >= 0) ::close(file->direct);
  if (::close(file->descriptor) != 0 && errno != EINTR) remember(*file->fault, errno);
  file->fault->file = nullptr;
  delete file;
  return 0;
}

const H5FD_class_t& driver_class() {
  static const H5FD_class_t driver = [] {
    H5FD_class_t c = basic_driver("annulus_guarded");
    add_access<Access>(c);
    c.open = open_file;
    c.close = close_file;
    c.query = query;
    c.set_eoa = set_allocated;
    c.read = read_file;
    c.write = write_file;
    c.truncate = truncate_file;
    c.lock = lock_file;
    c.unlock = unlock_file;
    return c;
  }();
  return driver;
}

}  // namespace

std::string WriteFault::reason() const {
  if (deleted) return "was deleted while it was being written";
  if (cut_short) return "was made shorter by another program while it was being written";
  return fmt::format("cannot be written: {}", std::strerror(error_number));
}

void begin_swmr_writing(hid_t file, WriteFault& fault) {
  if (H5Fstart_swmr_write(file) < 0) throw_hdf5(ErrorKind::kOutput, file, "cannot be opened to readers");
  commit(fault);
  fault.file->ordered = true;
  flock(fault.file->descriptor, LOCK_UN);
}

void commit(WriteFault& fault, LastSync last) {
  if (fault.file == nullptr || fault.failed()) return;
  GuardedFile& file = *fault.file;
  const bool wait_first = last == LastSync::kNow || file.new_unsynchronised;
  if (!file.held.empty() && wait_first && !synchronise(file)) return;
  // The superblock first: what others point to then lies before the end that it states.
  std::stable_partition(file.held.begin(), file.held.end(),
                        [](const GuardedFile::HeldWrite& write) { return write.address == 0; });
  std::size_t written = 0;
  for (const GuardedFile::HeldWrite& write : file.held) {
    if (!write_through(file, write.address, write.bytes.data(), write.bytes.size())) break;
    ++written;
  }
  file.held.erase(file.held.begin(), file.held.begin() + static_cast<std::ptrdiff_t>(written));
  if (fault.failed() || last == LastSync::kLater || !synchronise(file)) return;
  if (file.shrink_to && *file.shrink_to == file.allocated && set_length(file, file.allocated)) {
    file.end = file.allocated;
    synchronise(file);
  }
  file.shrink_to.reset();
}

void check_presence(WriteFault& fault) {
  if (fault.file == nullptr || fault.failed()) return;
  struct stat status {};
  if (fstat(fault.file->descriptor, &status) == 0 && status.st_nlink == 0) {
    fault.deleted = true;
    remember(fault, ENOENT);
  }
  is_whole(*fault.file);
}

bool is_named(const WriteFault& fault, const std::filesystem::path& path) {
  struct stat status {};
  return fault.file != nullptr && fstat(fault.file->descriptor, &status) == 0 &&
         has_name(path.c_str(), status);
}

WriterLock::WriterLock(const std::filesystem::path& path, WriteFault& fault) {
  fault.open_error = 0;
  fault.locked_out = fault.held_by_readers = false;
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
    fault.open_error = errno;
  } else if (!hold_against_writers(descriptor_) || !has_name(path.c_str(), status)) {
    fault.locked_out = true;
  } else {
    lock_as_hdf5_does(descriptor_, false, fault);
  }
  if (descriptor_ < 0 || (fault.open_error == 0 && !fault.locked_out)) return;
  ::close(descriptor_);
  descriptor_ = -1;
}

WriterLock::~WriterLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void WriterLock::pass_on_permissions(const std::filesystem::path& to) const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) return;
  // Without the right to give a file away it stays ours, as any file that is made anew.
  const bool owner_passed = ::chown(to.c_str(), status.st_uid, status.st_gid) == 0;
  const bool group_passed = owner_passed || ::chown(to.c_str(), static_cast<uid_t>(-1), status.st_gid) == 0;
  mode_t mode = status.st_mode & 07777;
  // Another group than the one that was meant is as anybody else.
  if (!group_passed) mode &= ~static_cast<mode_t>(S_ISGID | (S_IRWXG & ~((mode & S_IRWXO) << 3)));
  if (!owner_passed) mode &= ~static_cast<mode_t>(S_ISUID);
  ::chmod(to.c_str(), mode);
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

Hdf5Handle paged_creation() {
  Hdf5Handle list(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_file_space_strategy(list.get(), H5F_FSPACE_STRATEGY_PAGE, false, 1);
  H5Pset_file_space_page_size(list.get(), kPage);
  return list;
}

}  // namespace annulus
