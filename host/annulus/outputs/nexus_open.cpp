// Creating, continuing and repairing the growing file.

#include <annulus/core/atomic_file.hpp>
#include <annulus/hdf5/open_file.hpp>
#include <annulus/outputs/nexus_create.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/nexus_sink.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/sink_checks.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChoose = "use `overwrite` or `append`, or another `output`";

[[noreturn]] void refuse(const fs::path& path, const std::string& what, const std::string& cure = {}) {
  throw Error(ErrorKind::kOutput, path.string(), what, cure);
}

bool has_no_bytes(const fs::path& path) {
  std::error_code error;
  return fs::file_size(path, error) == 0 && !error;
}

// Why the driver could not open the file, in the words of the system.
[[noreturn]] void refuse_to_open(const fs::path& path, const WriteFault& fault) {
  if (fault.locked_out && fault.held_by_readers) {
    refuse(path, "another program has this file open for reading",
           "close it there, or choose another `output`");
  }
  if (fault.locked_out) {
    refuse(path, "another program is writing this file",
           "wait until it has finished, or choose another `output`");
  }
  const std::string reason = fault.open_error != 0 ? std::strerror(fault.open_error) : hdf5_reason();
  refuse(path, "cannot be opened for writing: " + reason,
         "check the permissions of the folder, or choose another `output`");
}

struct NewFile {
  const fs::path& path;
  const Job& job;
  const RunDescription& run;
  const std::shared_ptr<WriteFault>& fault;
};

// Fills a file that HDF5 has created at `place`, and lets readers in.
Hdf5Handle complete(const NewFile& made, const fs::path& place, Hdf5Handle file) {
  std::string reason;
  try {
    write_structure(file.get(), made.path.filename().string(), made.job, made.run);
    begin_swmr_writing(file.get());
  } catch (const Error& error) {
    reason = error.fault();
  }
  WriteFault& fault = *made.fault;
  if (fault.failed()) reason = fmt::format("cannot be written: {}", std::strerror(fault.error_number));
  if (reason.empty()) return file;
  file.reset();
  // Nothing of value is in it: a file that is not even an empty output would only be in the way.
  std::error_code ignored;
  fs::remove(place, ignored);
  refuse(made.path, reason, "make room or choose another `output`");
}

// Gives a file its name unless there is one of that name; errno, or 0. Not every file system has the first
// way, and some have no second.
int rename_without_replacing(const fs::path& from, const fs::path& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (::link(from.c_str(), to.c_str()) == 0) return ::unlink(from.c_str()) == 0 ? 0 : errno;
  if (errno == EEXIST) return errno;
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

// A new file gets its name when readers may open it: no viewer that waits for the name meets half a file, or
// has it in its hands while the writer still needs it for itself.
Hdf5Handle create(const NewFile& made) {
  remove_abandoned(made.path);
  const Hdf5Handle access = guarded_access(made.fault);
  Hdf5Handle file;
  fs::path place;
  for (int attempt = 0; !file; ++attempt) {
    place = temporary_name(made.path, attempt);
    made.fault->open_error = 0;
    file = Hdf5Handle(H5Fcreate(place.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()), H5Fclose);
    if (!file && made.fault->open_error != EEXIST) refuse_to_open(made.path, *made.fault);
  }
  file = complete(made, place, std::move(file));
  const int error = rename_without_replacing(place, made.path);
  if (error == 0) return file;
  file.reset();
  std::error_code ignored;
  fs::remove(place, ignored);
  if (error == EEXIST) refuse(made.path, "exists already", kChoose);
  refuse(made.path, fmt::format("cannot be given its name: {}", std::strerror(error)),
         "check the permissions of the folder, or choose another `output`");
}

// In place, so that links to the file, its owner and its permissions stay.
Hdf5Handle replace(const NewFile& made) {
  const Hdf5Handle access = guarded_access(made.fault);
  Hdf5Handle file(H5Fcreate(made.path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  if (!file) refuse_to_open(made.path, *made.fault);
  return complete(made, made.path, std::move(file));
}

void check_same_axis(hid_t file, const fs::path& path, const Plan& plan, const Axis& axis, const char* cure) {
  const std::string_view kind = name_of(axis.kind);
  const auto centres =
      read_doubles(file, layout::path_in_data(layout::axis_field(axis.kind)), std::size_t{1} << 28);
  if (!centres) refuse(path, fmt::format("has no readable {} axis", kind), cure);
  if (centres->size() == axis.bins()) return;
  const std::string which = plan.axes.size() > 1 ? fmt::format("{} ", kind) : std::string();
  refuse(path,
         fmt::format("has {} of {} {}bins, this run makes {}", layout::kind_of(plan.axes).plural,
                     centres->size(), which, axis.bins()),
         cure);
}

// Throws unless frames of this job can follow those in the file.
void check_same_job(const fs::path& path, const Job& job) {
  const Plan& plan = *job.plan;
  const Hdf5Handle file = open_to_read(path, ReadFirst::kBesideWriter);
  constexpr const char* kCure = "choose another `output`, or replace the file with `overwrite`";
  if (!file) refuse(path, "cannot be read: " + hdf5_reason(), kCure);
  const auto definition = read_text(file.get(), layout::kDefinitionField);
  const auto hash = read_text(file.get(), layout::kPlanHash);
  const std::size_t axes = layout::axes_of(definition.value_or(""));
  if (axes == 0 || !hash || !has_object(file.get(), layout::kStatus)) {
    refuse(path, "is not an output of annulus, so nothing can be appended to it", kCure);
  }
  if (axes != plan.axes.size()) {
    refuse(path,
           fmt::format("has {}, this run makes {}", layout::kFrameKinds[axes - 1].plural,
                       layout::kind_of(plan.axes).plural),
           kCure);
  }
  for (const Axis& axis : plan.axes) check_same_axis(file.get(), path, plan, axis, kCure);
  if (!has_object(file.get(), layout::kNormalizationFactor)) {
    refuse(path,
           "was written by annulus 0.1, which has one normalization factor for all frames; now every frame "
           "has its own",
           kCure);
  }
  if (!has_object(file.get(), layout::kChecksums))
    refuse(path, "was written by an earlier annulus, without checksums, which now every frame has", kCure);
  const std::size_t words = layout::stored_words(plan.pixel_type, Quantity::kSignal);
  if (!has_object(file.get(), layout::sums_of(Quantity::kSignal, words - 1))) {
    refuse(path,
           fmt::format("was written by an older annulus, whose sums of {} frames are less precise",
                       name_of(plan.pixel_type)),
           kCure);
  }
  const bool errors = has_object(file.get(), layout::sums_of(Quantity::kVariance));
  if (errors != job.recipe.has_variance()) {
    refuse(path,
           errors ? "has patterns with errors, this run makes them without"
                  : "has patterns without errors, this run makes them with errors",
           kCure);
  }
  if (*hash != plan.hash) {
    refuse(path,
           fmt::format(
               "was made with another plan (geometry, mask, corrections or options differ: plan {:.12} in "
               "the file, {:.12} now)",
               *hash, plan.hash),
           kCure);
  }
}

// Frames whose status has been written. A status that was never stored reads as the fill value.
std::uint64_t stored_frames(const RowDataset& status) {
  if (H5Dget_storage_size(status.id()) < status.rows()) return 0;
  std::vector<std::uint8_t> values(status.rows());
  if (H5Dread(status.id(), H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    throw_hdf5(ErrorKind::kOutput, status.id(), "cannot read which frames are stored");
  }
  const auto not_stored = static_cast<std::uint8_t>(layout::Status::kNotStored);
  return static_cast<std::uint64_t>(std::find(values.begin(), values.end(), not_stored) - values.begin());
}

std::uint64_t cut_to_stored_frames(hid_t file) {
  const auto length = [file](AxisKind kind) {
    const std::string path = layout::path_in_data(layout::axis_field(kind));
    if (!has_object(file, path)) return std::size_t{0};
    const Hdf5Handle axis(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
    const Hdf5Handle space(H5Dget_space(axis.get()), H5Sclose);
    return static_cast<std::size_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space.get()), 0));
  };
  const RowExtent bins{length(AxisKind::kRadial), length(AxisKind::kAzimuth)};
  RowDataset status(file, layout::kStatus, {});
  const std::uint64_t frames = stored_frames(status);
  // The status goes first: while the rest is being cut it must not promise rows that are gone.
  status.resize(frames);
  for (const char* path : {layout::kFrameIndex, layout::kFrameInSource, layout::kNormalizationFactor,
                           layout::kFractionBits, layout::kInvalidPixels, layout::kFrameChecksums}) {
    RowDataset(file, path, {}).resize(frames);
  }
  for (const char* path : {layout::kSource, layout::kFault})
    RowDataset(file, path, layout::kTextRow).resize(frames);
  const auto cut = [&](const char* path) {
    if (has_object(file, path)) RowDataset(file, path, bins).resize(frames);
  };
  cut(layout::kIntensity);
  cut(layout::kErrors);
  for (const Quantity quantity : all_quantities()) {
    for (std::size_t word = 0; word < kMostWords; ++word) cut(layout::sums_of(quantity, word).c_str());
  }
  return frames;
}

struct Repaired {
  Hdf5Handle file;
  std::uint64_t frames;
};

Repaired open_repaired(const fs::path& path, const std::shared_ptr<WriteFault>& fault) {
  const Hdf5Handle access = guarded_access(fault);
  // The properties by which h5clear opens a file that its writer did not close.
  const hbool_t yes = true;
  H5Pset(access.get(), "clear_status_flags", &yes);
  H5Pset(access.get(), "skip_eof_check", &yes);
  fault->adopt_tail = true;
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), H5Fclose);
  fault->adopt_tail = false;
  if (!file) refuse_to_open(path, *fault);
  const std::uint64_t frames = cut_to_stored_frames(file.get());
  return {std::move(file), frames};
}

}  // namespace

std::uint64_t repair_nexus(const fs::path& path, const std::shared_ptr<WriteFault>& fault) {
  Repaired repaired = open_repaired(path, fault);
  if (!repaired.file.reset()) refuse(path, "cannot be closed: " + hdf5_reason());
  if (fault->failed()) refuse(path, fmt::format("cannot be written: {}", std::strerror(fault->error_number)));
  return repaired.frames;
}

Hdf5Handle open_nexus_file(const fs::path& path, const Job& job, const RunDescription& run,
                           IfExists if_exists, const std::shared_ptr<WriteFault>& fault) {
  check_output_folder(path);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  const NewFile made{path, job, run, fault};
  if (!fs::exists(status)) return create(made);
  if (fs::is_directory(status)) refuse(path, "is a folder", "name a file with `output`");
  if (!fs::is_regular_file(status)) refuse(path, "is not a regular file", "choose another `output`");
  if (if_exists == IfExists::kRefuse) refuse(path, "exists already", kChoose);
  if (has_no_bytes(path)) return replace(made);
  if (!is_annulus_output(path)) {
    refuse(path, "is not an output of annulus, so it is not touched",
           "move it away, or choose another `output`");
  }
  if (if_exists == IfExists::kOverwrite) return replace(made);
  check_same_job(path, job);
  Hdf5Handle file = open_repaired(path, fault).file;
  begin_swmr_writing(file.get());
  return file;
}

}  // namespace annulus
