#include <annulus/core/text.hpp>
#include <annulus/hdf5/derived_file.hpp>
#include <annulus/hdf5/link_fence.hpp>
#include <annulus/hdf5/open_file.hpp>
#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/guarded_file.hpp>
#include <annulus/outputs/master_file.hpp>
#include <annulus/outputs/merged_header.hpp>
#include <annulus/outputs/merged_rows.hpp>
#include <annulus/outputs/nexus_create.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/open_output.hpp>
#include <annulus/outputs/outliers.hpp>
#include <annulus/outputs/part_files.hpp>
#include <annulus/outputs/row_dataset.hpp>
#include <annulus/outputs/whole_file.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>

namespace annulus {
namespace {

namespace fs = std::filesystem;

// From the folder of the master. Whoever moves that folder moves the parts with it.
std::string name_from(const fs::path& master, const fs::path& part) {
  const LinkFence fence(master.string());
  std::error_code unknown;
  const fs::path folder = master.has_parent_path() ? master.parent_path() : fs::path(".");
  fs::path name = fs::absolute(part, unknown)
                      .lexically_normal()
                      .lexically_relative(fs::absolute(folder, unknown).lexically_normal());
  if (name.empty() || *name.begin() == "..")
    name = fs::canonical(part, unknown).lexically_relative(fs::canonical(folder, unknown));
  if (name.empty() || *name.begin() == ".." || !fence.allows(part.string())) {
    throw Error(ErrorKind::kOutput, part.string(),
                fmt::format("does not lie below the folder of {}, its master", master.string()),
                "write the master into a folder above all parts, or copy the frames instead");
  }
  return name.string();
}

// What one part shows of its rows: runs whose rows and positions both ascend, so that one selection takes all
// of them.
struct Mapping {
  const PartFile* part = nullptr;
  std::vector<RowRun> runs;
};

std::vector<Mapping> mappings_of(const MergedRows& rows, const std::vector<PartFile>& parts) {
  std::vector<std::vector<RowRun>> by_part(parts.size());
  for (const RowRun& run : rows.runs) by_part[run.input].push_back(run);
  std::vector<Mapping> mappings;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::ranges::sort(by_part[i], {}, &RowRun::row);
    std::uint64_t last = 0;
    bool is_first = true;
    for (const RowRun& run : by_part[i]) {
      if (is_first || run.position < last) mappings.push_back({&parts[i], {}});
      is_first = false;
      last = run.position;
      mappings.back().runs.push_back(run);
    }
  }
  return mappings;
}

using Sides = std::array<hsize_t, kMostDimensions>;

// The shape of a dataset; the number of its dimensions.
int sides_of(hid_t dataset, Sides& sides) {
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 1 || rank > kMostDimensions) return 0;
  return H5Sget_simple_extent_dims(space.get(), sides.data(), nullptr);
}

bool have_rows_alike(hid_t one, hid_t other) {
  const Hdf5Handle type(H5Dget_type(one), H5Tclose), other_type(H5Dget_type(other), H5Tclose);
  Sides sides{}, other_sides{};
  const int rank = sides_of(one, sides);
  return rank > 0 && sides_of(other, other_sides) == rank && H5Tequal(type.get(), other_type.get()) > 0 &&
         std::equal(sides.begin() + 1, sides.begin() + rank, other_sides.begin() + 1);
}

// The datasets of which some part has written a row. Throws unless all parts have rows of the same kinds.
std::set<std::string> written_datasets(const std::vector<PartFile>& parts) {
  const Hdf5Handle first = open_output(parts.front().path);
  std::vector<std::string> paths = row_datasets(first.get());
  paths.emplace_back(layout::kFrameChecksums);
  std::set<std::string> written;
  for (const PartFile& part : parts) {
    const Hdf5Handle file = open_output(part.path);
    for (const std::string& path : paths) {
      const Hdf5Handle model(H5Dopen2(first.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
      const bool there = has_object(file.get(), path);
      const Hdf5Handle dataset(there ? H5Dopen2(file.get(), path.c_str(), H5P_DEFAULT) : H5I_INVALID_HID,
                               H5Dclose);
      if (!dataset || !have_rows_alike(model.get(), dataset.get())) {
        throw Error(ErrorKind::kInput, part.path.string(),
                    fmt::format("{} is of another shape or length of texts than in {}", path,
                                parts.front().path.string()),
                    "copy the frames instead");
      }
      if (H5Dget_storage_size(dataset.get()) > 0) written.insert(path);
    }
  }
  return written;
}

// Creates the datasets of rows of a master.
class VirtualRows {
 public:
  VirtualRows(hid_t master, const MergedRows& rows, const std::vector<PartFile>& parts)
      : master_(master),
        rows_(rows),
        written_(written_datasets(parts)),
        mappings_(mappings_of(rows, parts)) {}

  void create(const std::string& path, hid_t model) const {
    const Hdf5Handle type(H5Dget_type(model), H5Tclose);
    const Hdf5Handle space(H5Dget_space(model), H5Sclose);
    Sides size{}, most{};
    const int rank = H5Sget_simple_extent_dims(space.get(), size.data(), most.data());
    size[0] = rows_.frames;
    const Hdf5Handle whole(H5Screate_simple(rank, size.data(), most.data()), H5Sclose);
    // What no part ever wrote is not written here either: a mapping would show just the same.
    const Hdf5Handle creation = written_.contains(path) ? mapped(path, model, type.get(), rank, size, most)
                                                        : Hdf5Handle(H5Dget_create_plist(model), H5Pclose);
    const Hdf5Handle made(
        H5Dcreate2(master_, path.c_str(), type.get(), whole.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
        H5Dclose);
    if (!made) throw_hdf5(ErrorKind::kOutput, master_, fmt::format("{} cannot be created", path));
  }

 private:
  Hdf5Handle mapped(const std::string& path, hid_t model, hid_t type, int rank, Sides size,
                    const Sides& most) const {
    Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const Hdf5Handle stored(H5Dget_create_plist(model), H5Pclose);
    std::vector<std::byte> fill(H5Tget_size(type));
    if (H5Pget_fill_value(stored.get(), type, fill.data()) < 0 ||
        H5Pset_fill_value(creation.get(), type, fill.data()) < 0)
      throw_hdf5(ErrorKind::kOutput, master_, fmt::format("{} has no fill value", path));
    for (const Mapping& mapping : mappings_) {
      const Hdf5Handle here(H5Screate_simple(rank, size.data(), most.data()), H5Sclose);
      Sides there_size = size;
      there_size[0] = rows_.inputs[mapping.runs.front().input].frames;
      const Hdf5Handle there(H5Screate_simple(rank, there_size.data(), nullptr), H5Sclose);
      select(here.get(), size, mapping.runs, &RowRun::position);
      select(there.get(), size, mapping.runs, &RowRun::row);
      if (H5Pset_virtual(creation.get(), here.get(), escape_source_name(mapping.part->name).c_str(),
                         escape_source_name(path).c_str(), there.get()) < 0) {
        throw_hdf5(ErrorKind::kOutput, master_, fmt::format("{} cannot be mapped", path));
      }
    }
    return creation;
  }

  static void select(hid_t space, const Sides& size, const std::vector<RowRun>& runs,
                     std::uint64_t RowRun::*first) {
    H5S_seloper_t how = H5S_SELECT_SET;
    for (const RowRun& run : runs) {
      Sides start{}, block = size, once;
      once.fill(1);
      start[0] = run.*first;
      block[0] = run.count;
      H5Sselect_hyperslab(space, how, start.data(), nullptr, once.data(), block.data());
      how = H5S_SELECT_OR;
    }
  }

  hid_t master_;
  const MergedRows& rows_;
  const std::set<std::string> written_;
  const std::vector<Mapping> mappings_;
};

bool any_monitor(const std::vector<PartFile>& parts) {
  return std::ranges::any_of(parts, [](const PartFile& part) {
    const Hdf5Handle file = open_output(part.path);
    return read_flag(file.get(), layout::kMonitorApplied).value_or(false);
  });
}

void note_monitor(hid_t file) {
  const Hdf5Handle flag(H5Dopen2(file, layout::kMonitorApplied, H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type(H5Dget_type(flag.get()), H5Tclose);
  const std::int8_t yes = 1;
  if (!flag || H5Dwrite(flag.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &yes) < 0)
    throw_hdf5(ErrorKind::kOutput, file, "cannot note that a monitor was applied");
}

// The master says once what names of sources are relative to.
void check_names(const MergeInput& first, const MergeInput& input) {
  constexpr std::uint64_t kNamesAtOnce = 4096;
  const fs::path &folder = first.header.working_directory, &other = input.header.working_directory;
  if (other == folder) return;
  const PatternFile file(input.path);
  for (std::uint64_t row = 0; row < input.frames; row += kNamesAtOnce) {
    const auto frames = file.read_records(row, std::min(kNamesAtOnce, input.frames - row));
    const auto relative = std::ranges::find_if(
        frames, [](const FrameRecord& frame) { return fs::path(frame.source).is_relative(); });
    if (relative == frames.end()) continue;
    throw Error(
        ErrorKind::kInput, input.path.string(),
        fmt::format(
            "was made in {}, which its frame {} is named from, and {} in {}: a master cannot say both",
            other.string(), relative->source, first.path.string(), folder.string()),
        "leave `virtual` out, so that frames and their names are copied");
  }
}

std::vector<PartFile> describe_parts(const fs::path& master, const MergedRows& rows) {
  std::vector<PartFile> parts;
  for (const MergeInput& input : rows.inputs) {
    if (!input.header.parts.empty()) {
      throw Error(ErrorKind::kInput, input.path.string(), "is a master itself",
                  "name its parts instead, or copy the frames");
    }
    check_names(rows.inputs.front(), input);
    const Hdf5Handle file = open_output(input.path);
    parts.push_back({input.path, name_from(master, input.path),
                     read_whole_number(file.get(), layout::kHeaderChecksum).value_or(0)});
  }
  return parts;
}

WholeFileKind kind_of(IfExists if_exists) {
  if (if_exists == IfExists::kAppend) return {"master", "`output`", layout::is_master};
  return {"NeXus output", "`output`", layout::is_output};
}

void check_removable(const fs::path& path) {
  std::error_code unknown;
  if (fs::file_size(path, unknown) == 0 && !unknown) return;
  bool is_ours = probe_output(path);
  if (is_ours) {
    const Hdf5Session session;
    const Hdf5Handle file = open_to_read(path.string(), ReadFirst::kBesideWriter);
    is_ours = file && (layout::is_output(file.get()) || derived_file(file.get()) != DerivedFile::kNone);
  }
  if (!is_ours)
    throw Error(ErrorKind::kOutput, path.string(), "is no output that annulus wrote, so it is not removed",
                "move it away, or choose another `output`");
}

// As part_name() makes them.
bool is_part_name(const std::string& name) {
  constexpr std::string_view kBefore = "part_", kAfter = ".nxs";
  if (name.size() <= kBefore.size() + kAfter.size() || !name.starts_with(kBefore) || !name.ends_with(kAfter))
    return false;
  const std::string number = name.substr(kBefore.size(), name.size() - kBefore.size() - kAfter.size());
  return number.find_first_not_of("0123456789") == std::string::npos;
}

// As temporary_name() makes them of part_name().
bool is_begun_part(const std::string& name) {
  constexpr std::string_view kPart = ".nxs", kBegun = ".part";
  const std::size_t end = name.find(kPart);
  return end != std::string::npos && is_part_name(name.substr(0, end + kPart.size())) &&
         name.substr(end + kPart.size()).starts_with('.') && name.ends_with(kBegun);
}

}  // namespace

fs::path parts_folder(const fs::path& master) { return master.string() + ".parts"; }

fs::path part_name(const fs::path& master, unsigned number) {
  return parts_folder(master) / fmt::format("part_{:03}.nxs", number);
}

std::vector<fs::path> find_parts(const fs::path& master) {
  std::vector<fs::path> parts;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(parts_folder(master), none)) {
    if (is_part_name(entry.path().filename().string())) parts.push_back(entry.path());
  }
  std::ranges::sort(parts);
  return parts;
}

void remove_parts(const fs::path& master) {
  const fs::path folder = parts_folder(master);
  std::vector<fs::path> ours = find_parts(master);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (is_begun_part(entry.path().filename().string())) ours.push_back(entry.path());
  }
  for (const fs::path& path : ours) fs::remove(path, ignored);
  fs::remove(folder, ignored);
}

void check_master_place(const fs::path& master, IfExists if_exists) {
  check_place(master, if_exists != IfExists::kRefuse, kind_of(if_exists));
  name_from(master, parts_folder(master));
  if (const std::string name = master.filename().string(); to_utf8(name) != name)
    throw Error(ErrorKind::kOutput, master.string(),
                "is no name in UTF-8, and a master names its parts in it", "choose another `output`");
}

void remove_outputs(const std::vector<fs::path>& outputs) {
  std::vector<std::unique_ptr<WriterLock>> locks;
  for (const fs::path& output : outputs) {
    check_removable(output);
    WriteFault fault;
    locks.push_back(std::make_unique<WriterLock>(output, fault));
    if (!*locks.back())
      throw Error(ErrorKind::kOutput, output.string(), "another program is writing this file",
                  "wait until it has ended, or choose another `output`");
  }
  std::error_code ignored;
  for (const fs::path& output : outputs) fs::remove(output, ignored);
}

bool is_master(const fs::path& path) {
  if (!probe_output(path)) return false;
  const Hdf5Session session;
  const Hdf5Handle file = open_output_file(path);
  return file && layout::is_master(file.get());
}

MasterContent write_master(const fs::path& master, const std::vector<fs::path>& parts, IfExists if_exists,
                           const DifferenceOfRuns& difference) {
  MergedRows rows = merge_rows(parts, RowOrder::kByNumber, difference);
  if (rows.frames == 0) {
    throw Error(ErrorKind::kInput, parts.empty() ? master.string() : parts.front().string(),
                "there is no frame in any of the parts", "a master needs at least one");
  }
  for (const MergeInput& input : rows.inputs) {
    if (input.closed) continue;
    throw Error(ErrorKind::kInput, input.path.string(),
                "is not closed: the run that writes it goes on or was ended, and other programs cannot read "
                "it as a part",
                "let the run end, or go on with it by `append`; or copy the frames");
  }
  const Hdf5Session session;
  const std::vector<PartFile> files = describe_parts(master, rows);
  RunDescription run = describe_merged(rows, master);
  take_outliers(rows.inputs, false, run);
  write_whole_file(master, if_exists != IfExists::kRefuse, kind_of(if_exists), [&](hid_t file) {
    const VirtualRows virtual_rows(file, rows, files);
    // Before the checksum of the header, which covers it.
    const auto make_rows = [&](const std::string& path, hid_t model) {
      if (path == layout::kFrameChecksums) write_part_files(file, files);
      virtual_rows.create(path, model);
    };
    copy_structure(file, master.filename().string(), run, make_rows);
    if (any_monitor(files)) note_monitor(file);
    if (run.outliers != Outliers::kNone)
      write_outlier_counts(file, run.outliers_before, rows.frames - run.outliers_uncounted);
    const std::uint64_t header = read_whole_number(file, layout::kHeaderChecksum).value_or(0);
    overwrite_number(file, layout::kClosingChecksum, closing_checksum(file, header, rows.frames));
  });
  return {rows.frames, rows.bad, rows.missing, rows.missing_parts};
}

}  // namespace annulus
