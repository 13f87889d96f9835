#include <annulus/hdf5/link_fence.hpp>
#include <annulus/hdf5/open_file.hpp>
#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/part_files.hpp>
#include <annulus/outputs/reader.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles = "files";
constexpr const char* kHeaders = "headers";
constexpr std::size_t kMostPartFiles = std::size_t{1} << 20;

constexpr std::string_view kPartsDescription =
    "The outputs that hold the frames of this one, as they are named from its folder. headers: the checksum "
    "that "
    "each has of what it stores once, by which it is known.";

[[noreturn]] void refuse_master(const fs::path& path, const std::string& what, const std::string& cure) {
  throw Error(ErrorKind::kInput, path.string(), what, cure);
}

// As HDF5 looks for it: beside the name of the master, then beside the file itself.
fs::path find_part(const fs::path& master, const std::string& name) {
  std::error_code ignored;
  fs::path beside_name = master.parent_path() / name;
  if (fs::exists(beside_name, ignored)) return beside_name;
  const fs::path real = fs::canonical(master, ignored);
  const fs::path beside_file = real.parent_path() / name;
  return !real.empty() && fs::exists(beside_file, ignored) ? beside_file : beside_name;
}

Hdf5Handle open_part(const fs::path& master, const PartFile& part, const LinkFence& fence) {
  constexpr const char* kCure =
      "put it back where the master expects it, or make the master again of what is left";
  std::error_code ignored;
  if (!fs::is_regular_file(part.path, ignored))
    refuse_master(master, fmt::format("its part {} is not there", part.path.string()), kCure);
  if (!fence.allows(part.path.string()))
    refuse_master(master, fmt::format("its part {} lies outside its folder", part.path.string()), kCure);
  Hdf5Handle file =
      probe_output(part.path) ? open_to_read(part.path.string(), ReadFirst::kBesideWriter) : Hdf5Handle();
  if (!file)
    refuse_master(master, fmt::format("its part {} cannot be opened: {}", part.path.string(), hdf5_reason()),
                  kCure);
  if (read_whole_number(file.get(), layout::kHeaderChecksum) != part.header)
    refuse_master(master, fmt::format("{} is not the file that the master was made of", part.path.string()),
                  kCure);
  return file;
}

std::string name_in(hid_t properties, std::size_t i, ssize_t (*read)(hid_t, size_t, char*, size_t)) {
  const ssize_t length = read(properties, i, nullptr, 0);
  if (length <= 0) return {};
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  read(properties, i, name.data(), name.size());
  name.pop_back();
  return name;
}

// Rows that a mapping takes from its source: behind the last.
std::uint64_t rows_needed(hid_t properties, std::size_t i) {
  const Hdf5Handle space(H5Pget_virtual_srcspace(properties, i), H5Sclose);
  std::array<hsize_t, H5S_MAX_RANK> first{}, last{};
  if (!space || H5Sget_select_bounds(space.get(), first.data(), last.data()) < 0) return 0;
  return last[0] + 1;
}

std::uint64_t rows_in(hid_t file, const std::string& path) {
  if (!has_object(file, path)) return 0;
  const Hdf5Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  std::array<hsize_t, H5S_MAX_RANK> size{};
  if (!dataset || H5Sget_simple_extent_dims(space.get(), size.data(), nullptr) < 1) return 0;
  return size[0];
}

}  // namespace

bool is_virtual_dataset(hid_t dataset) {
  const Hdf5Handle properties(H5Dget_create_plist(dataset), H5Pclose);
  return properties && H5Pget_layout(properties.get()) == H5D_VIRTUAL;
}

std::string escape_source_name(const std::string& name) {
  std::string escaped;
  for (const char c : name) escaped += c == '%' ? "%%" : std::string(1, c);
  return escaped;
}

std::string unescape_source_name(const std::string& name) {
  std::string plain;
  for (std::size_t i = 0; i < name.size(); ++i) {
    plain += name[i];
    if (name[i] == '%' && i + 1 < name.size() && name[i + 1] == '%') ++i;
  }
  return plain;
}

void write_part_files(hid_t master, const std::vector<PartFile>& parts) {
  const Hdf5Handle group = create_group(master, layout::kParts, "NXcollection");
  write_attribute(group.get(), "description", kPartsDescription);
  std::vector<FixedText> names;
  std::vector<std::int64_t> headers;
  for (const PartFile& part : parts) {
    names.push_back({part.name});
    headers.push_back(std::bit_cast<std::int64_t>(part.header));
  }
  write_attribute(group.get(), kFiles, names);
  write_array(group.get(), kHeaders, headers);
}

std::vector<PartFile> read_part_files(const fs::path& path, hid_t master) {
  const auto names = read_texts_attribute(master, layout::kParts, kFiles, kMostPartFiles);
  if (!names)
    refuse_master(path, "is corrupt: the names of its parts cannot be read", "make the master again");
  std::vector<std::int64_t> headers(names->size());
  const std::string field = std::string(layout::kParts) + "/" + kHeaders;
  if (read_rows(master, field.c_str(), {}, 0, headers.size(), H5T_NATIVE_INT64, headers.data()) !=
      ReadRows::kGood)
    refuse_master(path, "is corrupt: the checksums of its parts cannot be read", "make the master again");
  std::vector<PartFile> parts;
  for (std::size_t i = 0; i < names->size(); ++i)
    parts.push_back({find_part(path, (*names)[i]), (*names)[i], std::bit_cast<std::uint64_t>(headers[i])});
  return parts;
}

void check_parts(const fs::path& path, hid_t master) {
  const LinkFence fence(path.string());
  // By the names that mappings have, the rows that each of their datasets must have.
  std::map<std::string, std::map<std::string, std::uint64_t>> needed;
  std::vector<std::string> datasets = row_datasets(master);
  datasets.emplace_back(layout::kFrameChecksums);
  for (const std::string& dataset_path : datasets) {
    const Hdf5Handle dataset(H5Dopen2(master, dataset_path.c_str(), H5P_DEFAULT), H5Dclose);
    const Hdf5Handle properties(H5Dget_create_plist(dataset.get()), H5Pclose);
    std::size_t count = 0;
    if (H5Pget_layout(properties.get()) != H5D_VIRTUAL) continue;
    H5Pget_virtual_count(properties.get(), &count);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t& rows =
          needed[unescape_source_name(name_in(properties.get(), i, H5Pget_virtual_filename))]
                [unescape_source_name(name_in(properties.get(), i, H5Pget_virtual_dsetname))];
      rows = std::max(rows, rows_needed(properties.get(), i));
    }
  }
  for (const PartFile& part : read_part_files(path, master)) {
    const Hdf5Handle file = open_part(path, part, fence);
    for (const auto& [dataset, rows] : needed[part.name]) {
      if (rows_in(file.get(), dataset) >= rows) continue;
      refuse_master(path,
                    fmt::format("its part {} is damaged: {} has {} rows, and {} were there",
                                part.path.string(), dataset, rows_in(file.get(), dataset), rows),
                    "make the part again, and then the master");
    }
    needed.erase(part.name);
  }
  if (!needed.empty())
    refuse_master(path, fmt::format("is corrupt: {} is not in the list of its parts", needed.begin()->first),
                  "make the master again");
}

}  // namespace annulus
