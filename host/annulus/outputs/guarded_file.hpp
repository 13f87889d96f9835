// An HDF5 file driver for a writer that must not lose what it has stored when a write fails.
//
// HDF5 itself does not survive a failed write: what it holds in memory and what is on disk drift apart, the
// file cannot be closed any more, and closing it again when the program ends may crash. This driver never
// tells HDF5 of a failure. The first write that fails is remembered in the WriteFault; from then on nothing
// reaches the file, and writes go to memory, so that HDF5 stays consistent with itself and closes cleanly.
// What is on disk is then a prefix of the writes, exactly as if the program had been killed at that moment,
// and SWMR writing orders its writes such that every prefix is a readable file.
#pragma once

#include <annulus/outputs/hdf5_fields.hpp>

#include <cstdint>
#include <limits>
#include <memory>

namespace annulus {

// Shared by a sink and the driver of its file. The sink asks it after each step whether the step is true.
struct WriteFault {
  int error_number = 0;          // errno of the first write that failed, 0 if none did
  int open_error = 0;            // errno of the last attempt to open
  bool locked_out = false;       // that attempt failed because another program has the file
  bool held_by_readers = false;  // and that program only reads it
  std::uint64_t writes = 0;      // writes that reached the file

  // The write with this number fails as on a full disk: how tests reach every single write.
  std::uint64_t fail_at_write = std::numeric_limits<std::uint64_t>::max();

  // While set, all of a file counts as allocated, whatever its superblock says: what opening a file needs
  // whose writer was killed, because new data must not go over chunks that the superblock has not heard of.
  bool adopt_tail = false;

  bool failed() const { return error_number != 0; }
};

// A file access list that uses the driver, for H5Fcreate and H5Fopen. A file opened with it is held against
// a second writer of this kind (but not against readers).
Hdf5Handle guarded_access(std::shared_ptr<WriteFault> fault);

// From here on readers may open the file while it grows. Until then it is locked against them, from the
// moment it was opened for writing: a file that its writer closes in between may be in a reader's hands when
// the writer comes back, and it would be refused its own file.
void begin_swmr_writing(hid_t file);

// Waits until what was flushed is on the disk; a failure is remembered in the WriteFault.
void sync_to_disk(hid_t file, WriteFault& fault);

}  // namespace annulus
