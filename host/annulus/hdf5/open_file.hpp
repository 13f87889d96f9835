// Opening HDF5 files to read them: the one place that does.
#pragma once

#include <annulus/hdf5/handle.hpp>
#include <annulus/hdf5/link_fence.hpp>

#include <memory>
#include <string>

namespace annulus {

// How a file is tried first. Both ways are tried, so that either opens what can be opened.
enum class ReadFirst {
  kAsClosed,      // quicker; fails for a file that somebody is writing, or whose writer was killed
  kBesideWriter,  // SWMR: others may begin to write the file while it is open
};

// Empty if the file cannot be opened: hdf5_reason() says why. Throws kInput for a file that was deadly to a
// probe. With a fence, the library follows links of the file only to where the fence allows. A checksum that
// does not fit is read again, as a writer may be at work, but only a few times: the library's default takes
// minutes to find damage. Within an Hdf5Session.
Hdf5Handle open_to_read(const std::string& path, ReadFirst first,
                        const std::shared_ptr<const LinkFence>& fence = nullptr);

}  // namespace annulus
