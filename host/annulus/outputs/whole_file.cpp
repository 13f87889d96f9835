#include <annulus/core/atomic_file.hpp>
#include <annulus/hdf5/open_file.hpp>
#include <annulus/outputs/guarded_file.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/sink_checks.hpp>
#include <annulus/outputs/whole_file.hpp>

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>

namespace annulus {
namespace {

namespace fs = std::filesystem;

// Nothing is lost with a file of no bytes.
bool may_be_replaced(const fs::path& path, const WholeFileKind& kind) {
  std::error_code error;
  if (fs::file_size(path, error) == 0 && !error) return true;
  if (!probe_output(path)) return false;
  const Hdf5Session scope;
  const Hdf5Handle file = open_to_read(path, ReadFirst::kAsClosed);
  return file && kind.is_one(file.get());
}

void check_replaceable(const fs::path& path, bool overwrite, const WholeFileKind& kind) {
  const std::string another = fmt::format("choose another {}", kind.option);
  if (!overwrite)
    throw Error(ErrorKind::kOutput, path.string(), "exists already", "use `overwrite`, or " + another);
  std::string fault = fmt::format("is not a {} that annulus wrote", kind.noun);
  try {
    if (may_be_replaced(path, kind)) return;
  } catch (const Error& error) {
    fault = error.fault();
  }
  throw Error(ErrorKind::kOutput, path.string(), fault + ", so it is not touched", another);
}

Hdf5Handle timeless_file() {
  Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation.get(), false);  // of the root
  return creation;
}

[[noreturn]] void refuse_to_write(const fs::path& path, const WholeFileKind& kind,
                                  const std::string& reason) {
  throw Error(ErrorKind::kOutput, path.string(),
              fmt::format("the {} cannot be written: {}", kind.noun, reason),
              fmt::format("make room, or choose another {}", kind.option));
}

std::string reason_of_opening(const WriteFault& fault) {
  if (fault.locked_out) return "another program is writing this file";
  return fault.open_error != 0 ? std::strerror(fault.open_error) : hdf5_reason();
}

// The name of the new file, complete and on the disk. Leaves nothing where it throws.
fs::path write_beside(const fs::path& path, const std::shared_ptr<WriteFault>& fault,
                      const std::function<void(hid_t file)>& fill) {
  const Hdf5Handle access = guarded_access(fault), creation = timeless_file();
  fs::path partial;
  Hdf5Handle file;
  for (int attempt = 0; !file && (attempt == 0 || fault->open_error == EEXIST); ++attempt) {
    partial = temporary_name(path, attempt);
    fault->open_error = 0;
    file = Hdf5Handle(H5Fcreate(partial.c_str(), H5F_ACC_EXCL, creation.get(), access.get()), H5Fclose);
  }
  if (!file) throw Error(ErrorKind::kOutput, path.string(), reason_of_opening(*fault));
  std::string reason;
  std::exception_ptr other;  // a failure that is not of the writing
  try {
    fill(file.get());
  } catch (const Error& error) {
    reason = error.fault();
    if (error.kind() != ErrorKind::kOutput) other = std::current_exception();
  } catch (...) {
    other = std::current_exception();
  }
  if (!file.reset() && reason.empty()) reason = hdf5_reason();
  if (fault->failed()) reason = std::strerror(fault->error_number);
  if (reason.empty() && !other) return partial;
  std::error_code ignored;
  fs::remove(partial, ignored);
  if (other) std::rethrow_exception(other);
  throw Error(ErrorKind::kOutput, path.string(), reason);
}

}  // namespace

std::optional<FileStamp> stamp_of(const fs::path& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileStamp{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                   status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

bool check_place(const fs::path& path, bool overwrite, const WholeFileKind& kind) {
  check_output_folder(path);
  std::error_code error;
  const bool replacing = fs::exists(path, error);
  if (!replacing && fs::is_symlink(path, error)) {
    throw Error(ErrorKind::kOutput, path.string(), "is a link to a file that does not exist",
                fmt::format("remove the link, or choose another {}", kind.option));
  }
  if (replacing) check_replaceable(path, overwrite, kind);
  return replacing;
}

void check_replacing(const fs::path& path, const WholeFileKind& kind) {
  std::error_code unknown;
  if (!fs::exists(path, unknown)) return;
  WriteFault fault;
  if (!WriterLock(path, fault)) refuse_to_write(path, kind, reason_of_opening(fault));
}

void write_whole_file(const fs::path& path, bool overwrite, const WholeFileKind& kind,
                      const std::function<void(hid_t file)>& fill, const std::optional<FileStamp>& known) {
  const bool replacing = check_place(path, overwrite, kind);
  std::error_code error;
  const auto refuse = [&](const std::string& reason) { refuse_to_write(path, kind, reason); };
  const Hdf5Session scope;
  // A link stays one: what it points to is replaced.
  fs::path place = replacing ? fs::canonical(path, error) : path;
  if (error) place = path;
  const auto fault = std::make_shared<WriteFault>();
  std::optional<WriterLock> old;
  if (replacing && !old.emplace(place, *fault)) refuse(reason_of_opening(*fault));
  const auto refuse_another = [&] {
    throw Error(ErrorKind::kOutput, path.string(),
                "another program wrote this file meanwhile, so it is not touched",
                fmt::format("let one program at a time write it, or choose another {}", kind.option));
  };
  if (known && stamp_of(place) != known) refuse_another();
  remove_abandoned(place);
  fs::path partial;
  try {
    partial = write_beside(place, fault, fill);
  } catch (const Error& failure) {
    if (failure.kind() != ErrorKind::kOutput) throw;
    refuse(failure.fault());
  }
  if (old) old->pass_on_permissions(partial);
  const int failure = give_name(partial, place, replacing);
  if (failure == 0) return sync_folder_of(place);
  fs::remove(partial, error);
  if (failure == EEXIST) refuse_another();
  refuse(std::strerror(failure));
}

}  // namespace annulus
