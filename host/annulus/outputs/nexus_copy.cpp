// The structure of a new output from that of another.

#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/iso_time.hpp>
#include <annulus/outputs/nexus_create.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/open_output.hpp>
#include <annulus/outputs/outliers.hpp>
#include <annulus/outputs/part_files.hpp>
#include <annulus/outputs/row_dataset.hpp>

#include <fmt/core.h>

#include <array>
#include <map>
#include <set>
#include <vector>

namespace annulus {
namespace {

constexpr int kDeepestGroup = 32;
constexpr std::size_t kLargestAttribute = std::size_t{1} << 20;
constexpr std::size_t kLargestDataset = std::size_t{1} << 32;  // of what is stored once

class StructureCopy {
 public:
  // `skipped`: what is made anew.
  StructureCopy(hid_t from, hid_t to, std::map<std::string, std::string> texts, std::set<std::string> skipped,
                MakeRows make_rows)
      : from_(from),
        to_(to),
        texts_(std::move(texts)),
        skipped_(std::move(skipped)),
        make_rows_(std::move(make_rows)) {}

  // What is in the new file already stays as it is.
  void copy_group(const std::string& path, int depth = 0) const {
    const Hdf5Handle group(H5Gopen2(from_, path.c_str(), H5P_DEFAULT), H5Gclose);
    const Hdf5Handle creation(H5Gget_create_plist(group.get()), H5Pclose);
    unsigned order = 0;
    H5Pget_link_creation_order(creation.get(), &order);
    if (path != "/" && !has_object(to_, path)) {
      const Hdf5Handle list(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
      H5Pset_link_creation_order(list.get(), order);
      unsigned most_in_header = 0, least_in_heap = 0;
      H5Pget_attr_phase_change(creation.get(), &most_in_header, &least_in_heap);
      H5Pset_attr_phase_change(list.get(), most_in_header, least_in_heap);
      const Hdf5Handle made(H5Gcreate2(to_, path.c_str(), H5P_DEFAULT, list.get(), H5P_DEFAULT), H5Gclose);
      if (!made) fail(path);
    }
    copy_attributes(path);
    const bool by_creation = (order & H5P_CRT_ORDER_INDEXED) != 0;
    const std::string folder = path == "/" ? path : path + "/";
    for (const std::string& name :
         names_in_group(from_, path, by_creation ? NameOrder::kAsCreated : NameOrder::kByName))
      copy_object(folder + name, depth + 1);
  }

 private:
  [[noreturn]] void fail(const std::string& path) const {
    throw_hdf5(ErrorKind::kOutput, to_, fmt::format("{} cannot be copied", path));
  }

  void copy_object(const std::string& path, int depth) const {
    if (skipped_.contains(path)) return;
    H5L_info_t link{};
    const bool hard = H5Lget_info(from_, path.c_str(), &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
    if (!hard || depth > kDeepestGroup) return;  // nothing of ours
    const Hdf5Handle object(H5Oopen(from_, path.c_str(), H5P_DEFAULT), H5Oclose);
    const H5I_type_t kind = H5Iget_type(object.get());
    if (kind == H5I_GROUP) return copy_group(path, depth);
    if (kind != H5I_DATASET || has_object(to_, path)) return;
    if (const auto text = texts_.find(path); text != texts_.end()) {
      write_text(to_, path, text->second);
    } else if (has_rows(object.get())) {
      make_rows_(path, object.get());
      copy_attributes(path);
    } else {
      if (!copy_values(object.get(), path)) fail(path);
      copy_attributes(path);
    }
  }

  // Not by H5Ocopy: with that, the HDF5 library crashes on some damaged objects.
  bool copy_values(hid_t from, const std::string& path) const {
    const Hdf5Handle type(H5Dget_type(from), H5Tclose);
    const Hdf5Handle space(H5Dget_space(from), H5Sclose);
    const Hdf5Handle creation(H5Dget_create_plist(from), H5Pclose);
    const auto values = H5Sget_simple_extent_npoints(space.get());
    const std::size_t size = H5Tget_size(type.get());
    if (values < 0 || size == 0 || static_cast<std::size_t>(values) > kLargestDataset / size) return false;
    std::vector<std::byte> buffer(static_cast<std::size_t>(values) * size);
    if (H5Dread(from, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer.data()) < 0) return false;
    const Hdf5Handle made(
        H5Dcreate2(to_, path.c_str(), type.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
        H5Dclose);
    const bool good =
        made && H5Dwrite(made.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer.data()) >= 0;
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, buffer.data());
    return good;
  }

  // Whether it is a dataset with a row per frame.
  static bool has_rows(hid_t dataset) {
    const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space.get());
    if (rank < 1 || rank > kMostDimensions) return false;
    std::array<hsize_t, kMostDimensions> most{};
    H5Sget_simple_extent_dims(space.get(), nullptr, most.data());
    return most[0] == H5S_UNLIMITED;
  }

  void copy_attributes(const std::string& path) const {
    std::vector<std::string> names;
    const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* data) -> herr_t {
      static_cast<std::vector<std::string>*>(data)->emplace_back(name);
      return 0;
    };
    const Hdf5Handle source(H5Oopen(from_, path.c_str(), H5P_DEFAULT), H5Oclose);
    const Hdf5Handle target(H5Oopen(to_, path.c_str(), H5P_DEFAULT), H5Oclose);
    H5Aiterate2(source.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names);
    for (const std::string& name : names) {
      if (H5Aexists(target.get(), name.c_str()) <= 0 && !copy_attribute(source.get(), target.get(), name))
        fail(fmt::format("{}@{}", path, name));
    }
  }

  static bool copy_attribute(hid_t from, hid_t to, const std::string& name) {
    const Hdf5Handle read(H5Aopen(from, name.c_str(), H5P_DEFAULT), H5Aclose);
    const Hdf5Handle type(H5Aget_type(read.get()), H5Tclose);
    const Hdf5Handle space(H5Aget_space(read.get()), H5Sclose);
    const auto values = H5Sget_simple_extent_npoints(space.get());
    const std::size_t size = H5Tget_size(type.get());
    if (values < 0 || size == 0 || static_cast<std::size_t>(values) > kLargestAttribute / size) return false;
    std::vector<std::byte> buffer(static_cast<std::size_t>(values) * size);
    if (H5Aread(read.get(), type.get(), buffer.data()) < 0) return false;
    const Hdf5Handle made(H5Acreate2(to, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
                          H5Aclose);
    const bool good = made && H5Awrite(made.get(), type.get(), buffer.data()) >= 0;
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, buffer.data());
    return good;
  }

  hid_t from_;
  hid_t to_;
  std::map<std::string, std::string> texts_;  // in place of what the other output has at these paths
  std::set<std::string> skipped_;
  MakeRows make_rows_;
};

// Rows like those of a model, but none yet.
void create_empty_rows(hid_t file, const std::string& path, hid_t model) {
  const Hdf5Handle space(H5Dget_space(model), H5Sclose);
  std::array<hsize_t, kMostDimensions> size{}, most{};
  const int rank = H5Sget_simple_extent_dims(space.get(), size.data(), most.data());
  size[0] = 0;
  const Hdf5Handle empty(H5Screate_simple(rank, size.data(), most.data()), H5Sclose);
  const Hdf5Handle type(H5Dget_type(model), H5Tclose);
  const Hdf5Handle creation(H5Dget_create_plist(model), H5Pclose);
  const Hdf5Handle made(
      H5Dcreate2(file, path.c_str(), type.get(), empty.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
      H5Dclose);
  if (!made) throw_hdf5(ErrorKind::kOutput, file, fmt::format("{} cannot be created", path));
}

// As field_name() of nexus_create.cpp makes them, where the other file has such an option.
std::string option_path(hid_t from, const std::string& name) {
  const std::string path = std::string(layout::kInput) + "/" + name;
  const std::string renamed = path + "_option";
  return has_object(from, renamed) ? renamed : path;
}

}  // namespace

namespace {

// Only what is as it was written is copied.
Hdf5Handle open_sound(const std::filesystem::path& path) {
  Hdf5Handle from = open_output(path);
  const auto stored = read_whole_number(from.get(), layout::kHeaderChecksum);
  if (!stored || header_checksum(from.get()) == *stored) return from;
  throw Error(ErrorKind::kInput, path.string(),
              "is damaged: what it stores beside its frames does not have its checksum",
              "copy it again, or reduce its frames again");
}

// All but what has to come last: columns, where they are made anew, and checksums. Returns the entry.
Hdf5Handle copy_but_checksums(hid_t file, hid_t from, const std::string& name, const RunDescription& run,
                              std::set<std::string> skipped, const MakeRows& make_rows) {
  const std::string now = iso_time();
  const std::string entry = layout::kEntry, reduction = layout::kReduction, input = layout::kInput;
  std::map<std::string, std::string> texts{{entry + "/start_time", now},
                                           {reduction + "/date", now},
                                           {reduction + "/version", run.program_version},
                                           {input + "/configuration", run.config_json}};
  for (const auto& [option, text] : run.options) texts[option_path(from, option)] = text;
  write_root(file, run.program_version, now);
  write_attribute(file, "file_name", std::string_view(name));
  Hdf5Handle made = create_group(file, "entry", "NXentry");
  write_end_time(file, now);
  write_flag(made.get(), "monitor_applied", false);  // until a frame says otherwise
  if (!run.without_option.empty()) skipped.insert(option_path(from, run.without_option));
  StructureCopy(from, file, std::move(texts), std::move(skipped), make_rows).copy_group("/");
  // Options that the program did not have when the other output was made, or that it has not.
  const Hdf5Handle options(H5Gopen2(file, layout::kInput, H5P_DEFAULT), H5Gclose);
  for (const auto& [option, text] : run.options) {
    if (!has_object(options.get(), option) && !has_object(options.get(), option + "_option"))
      write_text(options.get(), option, text);
  }
  return made;
}

}  // namespace

void copy_structure(hid_t file, const std::string& name, const Job& job, const RunDescription& run) {
  const Hdf5Handle from = open_sound(run.made_from);
  // The rows of a master are stored as in its parts.
  Hdf5Handle part;
  if (layout::is_master(from.get()))
    part = open_output(read_part_files(run.made_from, from.get()).at(0).path);
  const MakeRows make_rows = [&](const std::string& path, hid_t model) {
    if (!part) return create_empty_rows(file, path, model);
    const Hdf5Handle stored(H5Dopen2(part.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
    create_empty_rows(file, path, stored.get());
  };
  std::set<std::string> skipped{layout::kChecksums, layout::kColumns, layout::kParts, layout::kOutliers};
  if (run.of_other_frames) skipped.insert(layout::kScanShape);
  const Hdf5Handle entry = copy_but_checksums(file, from.get(), name, run, skipped, make_rows);
  create_word_rows(file, job, run.expected_frames);
  create_columns(file, run.columns, run.expected_frames);
  create_outliers(file, shape_of_outliers(from.get()), run.outliers);
  write_checksums(file, entry.get(), run.expected_frames);
}

void copy_structure(hid_t file, const std::string& name, const RunDescription& run,
                    const MakeRows& make_rows) {
  const Hdf5Handle from = open_sound(run.made_from);
  const Hdf5Handle entry = copy_but_checksums(
      file, from.get(), name, run, {layout::kChecksums, layout::kParts, layout::kOutliers}, make_rows);
  create_outliers(file, shape_of_outliers(from.get()), run.outliers);
  write_checksums(file, entry.get(), [&] {
    const Hdf5Handle model(H5Dopen2(from.get(), layout::kFrameChecksums, H5P_DEFAULT), H5Dclose);
    make_rows(layout::kFrameChecksums, model.get());
  });
}

}  // namespace annulus
