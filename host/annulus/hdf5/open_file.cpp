#include <annulus/hdf5/open_file.hpp>
#include <annulus/hdf5/probe.hpp>

namespace annulus {
namespace {

// The library sleeps between attempts, 1 ns at first and twice as long each time. So many take a few
// milliseconds, more than the write that a reader may have met; the default of 100 would never end.
constexpr unsigned kReadAttempts = 20;

}  // namespace

Hdf5Handle open_to_read(const std::string& path, ReadFirst first,
                        const std::shared_ptr<const LinkFence>& fence) {
  note_opening(path);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (!access || H5Pset_metadata_read_attempts(access.get(), kReadAttempts) < 0) return {};
  if (fence && !set_fence(access.get(), fence)) return {};
  const unsigned closed = H5F_ACC_RDONLY, shared = H5F_ACC_RDONLY | H5F_ACC_SWMR_READ;
  const bool closed_first = first == ReadFirst::kAsClosed;
  // The last attempt makes the message, which is about the plain mode then.
  for (const unsigned mode : {closed_first ? closed : shared, closed_first ? shared : closed, closed}) {
    H5Eclear2(H5E_DEFAULT);
    if (Hdf5Handle file(H5Fopen(path.c_str(), mode, access.get()), H5Fclose); file) return file;
  }
  return {};
}

}  // namespace annulus
