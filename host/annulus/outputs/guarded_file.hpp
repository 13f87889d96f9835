// An HDF5 file driver for a writer that must not lose what it has stored: when a write fails, when the
// program is killed, and when the power fails.
//
// A failed write. HDF5 itself does not survive one: what it holds in memory and what is on disk drift apart,
// the file cannot be closed any more, and closing it again when the program ends may crash. This driver never
// tells HDF5 of a failure. The first write that fails is remembered in the WriteFault; from then on nothing
// reaches the file, and writes go to memory, so that HDF5 stays consistent with itself and closes cleanly.
//
// Power. Between two calls of fdatasync a disk stores pages in any order, or not at all. So what others in
// the file point to has to be on the disk before they do. Data, and metadata where there was none before, go
// to the file at once: nothing in the file points to them yet, or they repeat what is there. Metadata that
// replaces other metadata is held in memory until commit(), which first synchronises the file. An object of
// metadata lies within one page (paged_creation), so that it is on the disk in the old state or in the new.
// After a kill, too, the file is in the state of a commit, or between two of them with whole objects.
#pragma once

#include <annulus/outputs/hdf5_fields.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>

namespace annulus {

struct GuardedFile;

// Shared by a sink and the driver of its file. The sink asks it after each step whether the step is true.
struct WriteFault {
  int error_number = 0;          // errno of the first write that failed, 0 if none did
  bool deleted = false;          // the failure: the file has no name any more
  bool cut_short = false;        // the failure: another program made the file shorter
  int open_error = 0;            // errno of the last attempt to open
  bool locked_out = false;       // that attempt failed because another program has the file
  bool held_by_readers = false;  // and that program only reads it
  std::uint64_t writes = 0;      // writes that reached the file

  // The write with this number fails as on a full disk: how tests reach every single write.
  std::uint64_t fail_at_write = std::numeric_limits<std::uint64_t>::max();

  // While set, all of a file counts as allocated, whatever its superblock says: what opening a file needs
  // whose writer was killed, because new data must not go over chunks that the superblock has not heard of.
  bool adopt_tail = false;

  GuardedFile* file = nullptr;  // that the driver has open

  bool failed() const { return error_number != 0; }
  std::string reason() const;  // of the failure, as what is said of the file
};

// A file access list that uses the driver, for H5Fcreate and H5Fopen. A file opened with it is held against
// a second writer of this kind (but not against readers).
Hdf5Handle guarded_access(std::shared_ptr<WriteFault> fault);

// For H5Fcreate: no object of metadata that is smaller than a page of memory lies in two of them.
Hdf5Handle paged_creation();

// From here on readers may open the file while it grows. Until then it is locked against them, from the
// moment it was opened for writing: a file that its writer closes in between may be in a reader's hands when
// the writer comes back, and it would be refused its own file. What was written before is on the disk then.
void begin_swmr_writing(hid_t file, WriteFault& fault);

// Brings to the disk what HDF5 has flushed: first what nothing in the file points to, then, in the order of
// HDF5, the metadata that was held. Needs no lock of HDF5. Failures are remembered in the WriteFault. With
// kLater the metadata, and data written over other data, reach the disk in any order, at the latest with the
// next commit, before anything of that does.
enum class LastSync { kNow, kLater };
void commit(WriteFault& fault, LastSync last = LastSync::kNow);

// Remembers in the WriteFault if the file was deleted or made shorter.
void check_presence(WriteFault& fault);

// Whether this is the name of the file that is open.
bool is_named(const WriteFault& fault, const std::filesystem::path& path);

// Keeps a file that is to be replaced from other writers meanwhile. It is not changed.
class WriterLock {
 public:
  // Says in the WriteFault why it cannot, as opening does.
  WriterLock(const std::filesystem::path& path, WriteFault& fault);
  ~WriterLock();
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

  explicit operator bool() const { return descriptor_ >= 0; }

  // Permissions and, where that is allowed, owner and group.
  void pass_on_permissions(const std::filesystem::path& to) const;

 private:
  int descriptor_ = -1;
};

}  // namespace annulus
