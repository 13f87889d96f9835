// Creating, continuing and repairing the growing file.

#include <annulus/core/atomic_file.hpp>
#include <annulus/hdf5/open_file.hpp>
#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/nexus_create.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/nexus_sink.hpp>
#include <annulus/outputs/outliers.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/sink_checks.hpp>
#include <annulus/outputs/stored_recipe.hpp>

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

void check_ours(const fs::path& path) {
  constexpr const char* kCure = "move it away, or choose another `output`";
  bool ours = false;
  try {
    ours = is_annulus_output(path);
  } catch (const Error& error) {
    const std::string cure = error.cure().empty() ? std::string() : error.cure() + "; or ";
    refuse(path, error.fault() + ", so it is not touched", cure + kCure);
  }
  if (!ours) refuse(path, "is not an output of annulus, so it is not touched", kCure);
}

struct NewFile {
  const fs::path& path;  // where it will be, no link
  const Job& job;
  const RunDescription& run;
  const std::shared_ptr<WriteFault>& fault;
};

// Fills a file that HDF5 has created at `place`, and lets readers in. It is then on the disk.
Hdf5Handle complete(const NewFile& made, const fs::path& place, Hdf5Handle file) {
  std::string reason;
  try {
    const std::string name = made.run.file_name.empty() ? made.path.filename().string() : made.run.file_name;
    if (made.run.made_from.empty()) {
      write_structure(file.get(), name, made.job, made.run);
    } else {
      copy_structure(file.get(), name, made.job, made.run);
    }
    begin_swmr_writing(file.get(), *made.fault);
  } catch (const Error& error) {
    reason = error.fault();
  }
  if (made.fault->failed()) reason = made.fault->reason();
  if (reason.empty()) return file;
  file.reset();
  // Nothing of value is in it: a file that is not even an empty output would only be in the way.
  std::error_code ignored;
  fs::remove(place, ignored);
  refuse(made.path, reason, "make room or choose another `output`");
}

// A new file gets its name when it is complete, on the disk, and readers may open it: no viewer that waits
// for the name meets half a file, or has it in its hands while the writer still needs it for itself; and
// whoever is killed here leaves under the name what was there before. `old`: the file that it replaces.
Hdf5Handle create(const NewFile& made, const WriterLock* old = nullptr) {
  remove_abandoned(made.path);
  const Hdf5Handle access = guarded_access(made.fault);
  const Hdf5Handle creation = paged_creation();
  Hdf5Handle file;
  fs::path place;
  for (int attempt = 0; !file; ++attempt) {
    place = temporary_name(made.path, attempt);
    made.fault->open_error = 0;
    file = Hdf5Handle(H5Fcreate(place.c_str(), H5F_ACC_EXCL, creation.get(), access.get()), H5Fclose);
    if (!file && made.fault->open_error != EEXIST) refuse_to_open(made.path, *made.fault);
  }
  if (old != nullptr) old->pass_on_permissions(place);
  file = complete(made, place, std::move(file));
  const int error = give_name(place, made.path, old != nullptr);
  if (error == 0) {
    sync_folder_of(made.path);
    return file;
  }
  file.reset();
  std::error_code ignored;
  fs::remove(place, ignored);
  if (error == EEXIST) refuse(made.path, "exists already", kChoose);
  refuse(made.path, fmt::format("cannot be given its name: {}", std::strerror(error)),
         "check the permissions of the folder, or choose another `output`");
}

// Readers keep the old file for as long as they have it open.
Hdf5Handle replace(const NewFile& made) {
  const WriterLock old(made.path, *made.fault);
  if (!old) refuse_to_open(made.path, *made.fault);
  return create(made, &old);
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

// Frames of one file have the same columns: what is missing in some is not made up.
void check_same_columns(hid_t file, const fs::path& path, const std::vector<ColumnInfo>& columns,
                        const char* cure) {
  const std::vector<ColumnInfo> stored = layout::read_columns(file);
  const auto name_in = [](const std::vector<ColumnInfo>& list, const std::string& name) {
    return std::ranges::find(list, name, &ColumnInfo::name);
  };
  for (const ColumnInfo& column : columns) {
    const auto found = name_in(stored, column.name);
    if (found == stored.end())
      refuse(path, fmt::format("has no column {}, which this run has", column.name), cure);
    if (found->unit != column.unit && !found->unit.empty() && !column.unit.empty()) {
      refuse(path,
             fmt::format("has column {} in {}, this run has it in {}", column.name, found->unit, column.unit),
             cure);
    }
  }
  for (const ColumnInfo& column : stored) {
    if (name_in(columns, column.name) == columns.end())
      refuse(path, fmt::format("has a column {}, which this run does not have", column.name),
             "give it with `column`, or choose another `output`");
  }
}

void check_same_recipe(hid_t file, const fs::path& path, const Recipe& recipe, const char* cure) {
  const auto stored = read_recipe(file);
  if (!stored) refuse(path, "is corrupt: it does not say by which recipe it was made", cure);
  if (*stored == recipe) return;
  if (stored->has_errors() != recipe.has_errors()) {
    refuse(path,
           recipe.has_errors() ? "has patterns without errors, this run makes them with errors"
                               : "has patterns with errors, this run makes them without",
           cure);
  }
  refuse(
      path,
      fmt::format("has patterns with {}, this run makes them with {}", in_words(*stored), in_words(recipe)),
      cure);
}

void check_same_outliers(hid_t file, const fs::path& path, Outliers wanted, const char* cure) {
  constexpr std::array kWords = {"no counts of outliers", "counts of outliers", "lists of outliers"};
  const Outliers stored = stored_outliers(file);
  if (stored == wanted) return;
  refuse(path,
         fmt::format("has {}, this run makes {}", kWords.at(static_cast<std::size_t>(stored)),
                     kWords.at(static_cast<std::size_t>(wanted))),
         cure);
}

// Numbers of frames mean places in the scan in parts, and in other outputs they are counted.
void check_same_part(hid_t file, const fs::path& path, const RunDescription& run) {
  const auto found = std::ranges::find(run.options, "part", &std::pair<std::string, std::string>::first);
  const std::string part = found == run.options.end() ? "" : found->second;
  const std::string stored = read_text(file, std::string(layout::kInput) + "/part").value_or("");
  if (part == stored) return;
  const auto named = [](const std::string& text) { return text.empty() ? "a whole scan" : "part " + text; };
  refuse(path, fmt::format("was made of {}, this run is of {}", named(stored), named(part)),
         stored.empty() ? "choose another `output`" : "give the same `part`, or choose another `output`");
}

void check_same_run(hid_t file, const fs::path& path, const RunDescription& run) {
  if (!run.difference_from) return;
  const auto config = read_text(file, std::string(layout::kInput) + "/configuration");
  const std::string what = run.difference_from(config.value_or(""));
  if (what.empty()) return;
  refuse(path, fmt::format("its frames and those of this run do not go together, they differ: {}", what),
         "give the options that it was made with, or choose another `output`");
}

}  // namespace

void check_same_job(const fs::path& path, const Job& job, const RunDescription& run) {
  const Plan& plan = *job.plan;
  const bool sound = probe_output(path);
  const Hdf5Handle file = sound ? open_to_read(path, ReadFirst::kBesideWriter) : Hdf5Handle();
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
  if (layout::is_master(file.get())) {
    refuse(path, "is a master: its frames lie in parts beside it, and nothing can be appended to it here",
           "continue with as many processes as before, or merge it into one file, and append to that");
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
  if (!has_object(file.get(), layout::kSourceId)) {
    refuse(path,
           "was written by an earlier annulus, which did not store by what it knows the sources of frames",
           kCure);
  }
  const std::size_t words = most_words(plan.pixel_type, Quantity::kSignal);
  if (!has_object(file.get(), layout::sums_of(Quantity::kSignal, words - 1))) {
    refuse(path,
           fmt::format("was written by an older annulus, whose sums of {} frames are less precise",
                       name_of(plan.pixel_type)),
           kCure);
  }
  check_same_recipe(file.get(), path, job.recipe, kCure);
  check_same_outliers(file.get(), path, run.outliers, kCure);
  if (*hash != plan.hash) {
    refuse(path,
           fmt::format(
               "was made with another plan (geometry, mask, corrections or options differ: plan {:.12} in "
               "the file, {:.12} now)",
               *hash, plan.hash),
           kCure);
  }
  check_same_columns(file.get(), path, run.columns, kCure);
  check_same_part(file.get(), path, run);
  check_same_run(file.get(), path, run);
}

namespace {

// Calls visit(path, extent) for every dataset of the file that has one row per frame, `status` first.
template <typename Visit>
void for_each_row_dataset(hid_t file, Visit visit) {
  const auto length = [file](AxisKind kind) {
    const std::string path = layout::path_in_data(layout::axis_field(kind));
    if (!has_object(file, path)) return std::size_t{0};
    const Hdf5Handle axis(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
    const Hdf5Handle space(H5Dget_space(axis.get()), H5Sclose);
    return static_cast<std::size_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space.get()), 0));
  };
  const RowExtent bins{length(AxisKind::kRadial), length(AxisKind::kAzimuth)};
  for (const char* path :
       {layout::kStatus, layout::kFrameIndex, layout::kFrameInSource, layout::kNormalizationFactor,
        layout::kFractionBits, layout::kInvalidPixels, layout::kFrameChecksums}) {
    visit(path, RowExtent{});
  }
  visit(layout::kSourceId, layout::kSourceIdRow);
  for (const ColumnInfo& column : layout::read_columns(file))
    visit(layout::column_path(column.name).c_str(), RowExtent{});
  for (const char* path : {layout::kSource, layout::kFault}) visit(path, layout::kTextRow);
  const auto visit_if_there = [&](const char* path) {
    if (has_object(file, path)) visit(path, bins);
  };
  for (const layout::Curve& curve : layout::kCurves) visit_if_there(curve.path);
  for (const Quantity quantity : all_quantities()) {
    for (std::size_t word = 0; word < kMostWords; ++word)
      visit_if_there(layout::sums_of(quantity, word).c_str());
  }
}

// The end of the last chunk that the dataset has, which may lie behind the last row.
std::uint64_t end_of_chunks(hid_t dataset) {
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  std::array<hsize_t, H5S_MAX_RANK> size{};
  std::array<hsize_t, H5S_MAX_RANK> offset{};
  hsize_t chunks = 0;
  if (H5Pget_chunk(creation.get(), H5S_MAX_RANK, size.data()) < 0 ||
      H5Dget_num_chunks(dataset, space.get(), &chunks) < 0) {
    throw_hdf5(ErrorKind::kOutput, dataset, "cannot read the index of chunks");
  }
  if (chunks == 0) return 0;
  if (H5Dget_chunk_info(dataset, space.get(), chunks - 1, offset.data(), nullptr, nullptr, nullptr) < 0)
    throw_hdf5(ErrorKind::kOutput, dataset, "cannot read the index of chunks");
  return offset[0] + size[0];
}

// Whether zeros of this dataset are left out by the writer.
bool is_sparse(const std::string& path) {
  for (const Quantity quantity : all_quantities()) {
    for (std::size_t word = 0; word < kMostWords; ++word) {
      if (layout::is_sparse(quantity, word) && path == layout::sums_of(quantity, word)) return true;
    }
  }
  return false;
}

// Rows without a mark may hold what a killed writer left, also rows behind the end of a dataset: a power
// failure may lose its new length and not what was written for it. Where the writer relies on rows to be as
// if they had never been written, they are made so: it leaves out zeros, and a status says what is stored.
void blank_tails(hid_t file, std::uint64_t frames) {
  for_each_row_dataset(file, [&](const char* path, RowExtent extent) {
    const auto is_path = [path](const char* other) { return std::strcmp(path, other) == 0; };
    const bool relied_on = is_path(layout::kStatus) || is_path(layout::kFault) || is_sparse(path);
    if (!relied_on) return;
    RowDataset dataset(file, path, extent);
    const std::uint64_t rows = dataset.rows();
    dataset.resize(std::max(rows, end_of_chunks(dataset.id())));
    const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose);
    std::vector<std::byte> row(extent.values() * dataset.value_bytes());
    const auto not_stored = static_cast<std::byte>(layout::Status::kNotStored);
    const std::vector<std::byte> blank(row.size(), is_path(layout::kStatus) ? not_stored : std::byte{0});
    for (std::uint64_t i = frames; i < dataset.rows(); ++i) {
      const ReadRows read = read_rows(file, path, extent, i, 1, type.get(), row.data());
      if (read != ReadRows::kGood || row != blank) dataset.write(i, 1, blank.data());
    }
    // Readers take the length of `status` for the number of frames.
    dataset.resize(is_path(layout::kStatus) ? frames : rows);
  });
}

void flush_and_commit(hid_t file, WriteFault& fault) {
  if (H5Fflush(file, H5F_SCOPE_LOCAL) < 0) throw_hdf5(ErrorKind::kOutput, file, "cannot flush");
  commit(fault);
}

struct Continued {
  Hdf5Handle file;
  std::uint64_t frames;
};

// Nothing of the file is changed yet.
Continued open_left_file(const fs::path& path, const std::shared_ptr<WriteFault>& fault) {
  const Hdf5Handle access = guarded_access(fault);
  // The properties by which h5clear opens a file that its writer did not close.
  const hbool_t yes = true;
  H5Pset(access.get(), "clear_status_flags", &yes);
  H5Pset(access.get(), "skip_eof_check", &yes);
  fault->adopt_tail = true;
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), H5Fclose);
  if (!file) refuse_to_open(path, *fault);
  const std::uint64_t frames = stored_frames(file.get());
  return {std::move(file), frames};
}

}  // namespace

std::uint64_t stored_frames(hid_t file) {
  const RowDataset status(file, layout::kStatus, {});
  // Every stored status takes a byte, so a longer claim is not true.
  std::vector<std::uint8_t> values(std::min<std::uint64_t>(status.rows(), H5Dget_storage_size(status.id())));
  if (read_rows(file, layout::kStatus, {}, 0, values.size(), H5T_NATIVE_UINT8, values.data()) !=
      ReadRows::kGood) {
    throw_hdf5(ErrorKind::kOutput, file, "cannot read which frames are stored");
  }
  const auto not_stored = static_cast<std::uint8_t>(layout::Status::kNotStored);
  return static_cast<std::uint64_t>(std::find(values.begin(), values.end(), not_stored) - values.begin());
}

// Tails are blank before they are cut off: an index of chunks and the length of its dataset may reach the
// disk one without the other, and then a chunk comes back when the dataset grows again.
void cut_to(hid_t file, std::uint64_t frames, WriteFault& fault) {
  blank_tails(file, frames);
  flush_and_commit(file, fault);
  for_each_row_dataset(file, [&](const char* path, RowExtent extent) {
    RowDataset dataset(file, path, extent);
    if (dataset.rows() > frames) dataset.resize(frames);
  });
  repair_outliers(file, frames);
  flush_and_commit(file, fault);
}

std::uint64_t repair_nexus(const fs::path& path, const std::shared_ptr<WriteFault>& fault) {
  Continued left = open_left_file(path, fault);
  cut_to(left.file.get(), left.frames, *fault);
  fault->adopt_tail = false;
  if (!left.file.reset()) refuse(path, "cannot be closed: " + hdf5_reason());
  if (fault->failed()) refuse(path, fault->reason());
  return left.frames;
}

void close_left(const fs::path& output) {
  if (PatternFile(output).is_closed()) return;
  const Hdf5Session scope;
  const auto fault = std::make_shared<WriteFault>();
  Continued left = open_left_file(output, fault);
  cut_to(left.file.get(), left.frames, *fault);
  const std::uint64_t header = read_whole_number(left.file.get(), layout::kHeaderChecksum).value_or(0);
  overwrite_number(left.file.get(), layout::kClosingChecksum,
                   closing_checksum(left.file.get(), header, left.frames));
  fault->adopt_tail = false;
  if (!left.file.reset()) refuse(output, "cannot be closed: " + hdf5_reason());
  if (fault->failed()) refuse(output, fault->reason());
}

OutputPlace find_place(const fs::path& path, IfExists if_exists) {
  check_output_folder(path);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return {path, OutputPlace::Holds::kNothing};
  if (fs::is_directory(status)) refuse(path, "is a folder", "name a file with `output`");
  if (!fs::is_regular_file(status)) refuse(path, "is not a regular file", "choose another `output`");
  if (if_exists == IfExists::kRefuse) refuse(path, "exists already", kChoose);
  // A link stays one: what it points to is replaced.
  const fs::path target = fs::canonical(path, error);
  const fs::path place = error ? path : target;
  if (has_no_bytes(path)) return {place, OutputPlace::Holds::kNoBytes};
  check_ours(path);
  return {place, OutputPlace::Holds::kOutput};
}

Hdf5Handle open_nexus_file(const fs::path& path, const Job& job, const RunDescription& run,
                           IfExists if_exists, const std::shared_ptr<WriteFault>& fault) {
  using Holds = OutputPlace::Holds;
  const OutputPlace place = find_place(path, if_exists);
  const NewFile made{place.path, job, run, fault};
  if (place.holds == Holds::kNothing) return create(made);
  if (place.holds == Holds::kNoBytes || if_exists == IfExists::kOverwrite) return replace(made);
  check_same_job(path, job, run);
  Continued left = open_left_file(path, fault);
  blank_tails(left.file.get(), left.frames);
  repair_outliers(left.file.get(), left.frames);
  begin_swmr_writing(left.file.get(), *fault);
  fault->adopt_tail = false;
  return std::move(left.file);
}

}  // namespace annulus
