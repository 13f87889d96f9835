#define XXH_INLINE_ALL
#include <annulus/outputs/checksums.hpp>
#include <annulus/outputs/hdf5_fields.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/row_dataset.hpp>

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

namespace annulus {
namespace {

// What a file may hold and still be believed; the writer stays far below.
constexpr std::size_t kMostBytes = std::size_t{1} << 28;  // of one value that is stored once
constexpr int kDeepest = 32;

constexpr std::uint64_t kOfOpenFiles = 1;

// A hash over parts, each with its length, so that nothing can move from one to the next.
class Digest {
 public:
  Digest() : state_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(state_.get()); }

  void add(std::span<const std::byte> bytes) {
    const std::uint64_t size = bytes.size();
    XXH3_64bits_update(state_.get(), &size, sizeof size);
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  void add(std::uint64_t number) { XXH3_64bits_update(state_.get(), &number, sizeof number); }

  std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

std::vector<std::string> names_in(hid_t group) {
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* data) -> herr_t {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return 0;
  };
  H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> attributes_of(hid_t object) {
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* data) -> herr_t {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return 0;
  };
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names);
  std::sort(names.begin(), names.end());
  return names;
}

struct Dimensions {
  int rank = 0;
  std::array<hsize_t, kMostDimensions> size = {};
  bool grows = false;
};

Dimensions dimensions_of(hid_t space) {
  Dimensions dimensions;
  dimensions.rank = std::max(H5Sget_simple_extent_ndims(space), 0);
  if (dimensions.rank == 0 || dimensions.rank > kMostDimensions) return dimensions;
  std::array<hsize_t, kMostDimensions> most = {};
  H5Sget_simple_extent_dims(space, dimensions.size.data(), most.data());
  dimensions.grows = most[0] == H5S_UNLIMITED;
  return dimensions;
}

void add_type(Digest& digest, hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  digest.add(static_cast<std::uint64_t>(kind));
  const bool variable = kind == H5T_STRING && H5Tis_variable_str(type) > 0;
  digest.add(variable ? std::uint64_t{0} : H5Tget_size(type));
  if (kind == H5T_INTEGER) digest.add(static_cast<std::uint64_t>(H5Tget_sign(type)));
  if (kind == H5T_STRING) digest.add(static_cast<std::uint64_t>(H5Tget_cset(type)));
  if (kind != H5T_ENUM) return;
  const int members = std::max(H5Tget_nmembers(type), 0);
  for (unsigned i = 0; i < static_cast<unsigned>(members); ++i) {
    char* const name = H5Tget_member_name(type, i);
    digest.add(std::string_view(name != nullptr ? name : ""));
    H5free_memory(name);
  }
}

// The values of a dataset or an attribute, which `read` reads as a type into a place.
template <typename Read>
void add_values(Digest& digest, hid_t type, hid_t space, const Read& read) {
  const auto count = static_cast<std::size_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space), 0));
  digest.add(count);
  const H5T_class_t kind = H5Tget_class(type);
  const bool known = kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_ENUM || kind == H5T_STRING;
  const std::size_t size = H5Tget_size(type);
  if (!known || count == 0 || size == 0 || count > kMostBytes / size) return;
  if (kind == H5T_STRING && H5Tis_variable_str(type) > 0) {
    std::vector<char*> texts(count, nullptr);
    const bool good = read(type, texts.data()) >= 0;
    for (const char* text : texts) digest.add(std::string_view(good && text != nullptr ? text : ""));
    if (good) H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts.data());
    return;
  }
  std::vector<std::byte> values(count * size);
  if (read(type, values.data()) >= 0) digest.add(values);
}

void add_attributes(Digest& digest, hid_t object) {
  for (const std::string& name : attributes_of(object)) {
    digest.add(std::string_view(name));
    const Hdf5Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    if (!attribute) continue;
    const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
    const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
    add_type(digest, type.get());
    for (const hsize_t size : dimensions_of(space.get()).size) digest.add(size);
    add_values(digest, type.get(), space.get(),
               [&](hid_t memory, void* buffer) { return H5Aread(attribute.get(), memory, buffer); });
  }
}

bool is_of_outliers(const std::string& path) {
  return std::ranges::find(layout::kOutlierDatasets, path) != layout::kOutlierDatasets.end();
}

// What is written again until the file is closed, and the checksums themselves.
bool is_of_the_end(const std::string& path) {
  constexpr std::array kPaths = {layout::kEndTime, layout::kMonitorApplied, layout::kHeaderChecksum,
                                 layout::kClosingChecksum};
  return std::find(kPaths.begin(), kPaths.end(), path) != kPaths.end() || is_of_outliers(path);
}

void add_values(Digest& digest, hid_t dataset) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  add_values(digest, type.get(), space.get(), [&](hid_t memory, void* buffer) {
    return H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer);
  });
}

void add_dataset(Digest& digest, hid_t dataset, bool with_values) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  add_type(digest, type.get());
  Dimensions dimensions = dimensions_of(space.get());
  if (dimensions.grows) dimensions.size[0] = H5S_UNLIMITED;
  for (const hsize_t size : dimensions.size) digest.add(size);
  if (!dimensions.grows && with_values) add_values(digest, dataset);
}

// Calls visit(object, path) for the group, then for all that is in it, by name. Links lead nowhere: nothing
// behind them is part of the file.
template <typename Visit>
void for_each_object(hid_t group, const std::string& path, int depth, const Visit& visit) {
  visit(group, path);
  const std::string folder = path == "/" ? path : path + "/";
  for (const std::string& name : names_in(group)) {
    const std::string inner = folder + name;
    H5L_info_t link{};
    const bool hard = H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT) >= 0 &&
                      link.type == H5L_TYPE_HARD && depth < kDeepest;
    const Hdf5Handle object(hard ? H5Oopen(group, name.c_str(), H5P_DEFAULT) : H5I_INVALID_HID, H5Oclose);
    if (object && H5Iget_type(object.get()) == H5I_GROUP) {
      for_each_object(object.get(), inner, depth + 1, visit);
    } else {
      visit(object.get(), inner);
    }
  }
}

template <typename Visit>
void for_each_object(hid_t file, const Visit& visit) {
  const Hdf5Handle root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose);
  if (root) for_each_object(root.get(), "/", 0, visit);
}

bool is_dataset(hid_t object) { return object >= 0 && H5Iget_type(object) == H5I_DATASET; }

}  // namespace

std::uint64_t checksum_seed(std::string_view path) { return XXH3_64bits(path.data(), path.size()); }

std::uint64_t row_checksum(std::uint64_t seed, std::span<const std::byte> row) {
  return XXH3_64bits_withSeed(row.data(), row.size(), seed);
}

std::uint64_t frame_checksum(std::uint64_t sum_of_rows, std::uint64_t number) {
  return XXH3_64bits_withSeed(&sum_of_rows, sizeof sum_of_rows, number);
}

std::vector<std::string> row_datasets(hid_t file) {
  std::vector<std::string> paths;
  for_each_object(file, [&](hid_t object, const std::string& path) {
    if (!is_dataset(object) || path == layout::kFrameChecksums || is_of_outliers(path)) return;
    const Hdf5Handle space(H5Dget_space(object), H5Sclose);
    if (dimensions_of(space.get()).grows) paths.push_back(path);
  });
  return paths;
}

std::uint64_t header_checksum(hid_t file, std::span<const char* const> elsewhere) {
  const auto has_values = [&](const std::string& path) {
    return !is_of_the_end(path) && std::find(elsewhere.begin(), elsewhere.end(), path) == elsewhere.end();
  };
  Digest digest;
  for_each_object(file, [&](hid_t object, const std::string& path) {
    digest.add(std::string_view(path));
    if (object < 0) return;
    digest.add(static_cast<std::uint64_t>(H5Iget_type(object)));
    add_attributes(digest, object);
    if (is_dataset(object)) add_dataset(digest, object, has_values(path));
  });
  return digest.value();
}

std::uint64_t closing_checksum(hid_t file, std::uint64_t header, std::uint64_t frames) {
  Digest digest;
  digest.add(header);
  digest.add(frames);
  for (const char* path : {layout::kEndTime, layout::kMonitorApplied}) {
    const Hdf5Handle dataset(H5Dopen2(file, path, H5P_DEFAULT), H5Dclose);
    if (dataset) add_values(digest, dataset.get());
  }
  for (const char* path : layout::kOutlierDatasets) {
    if (!has_object(file, path)) continue;
    const Hdf5Handle dataset(H5Dopen2(file, path, H5P_DEFAULT), H5Dclose);
    if (dataset) add_values(digest, dataset.get());
  }
  return digest.value();
}

std::uint64_t open_mark(std::uint64_t header) {
  return XXH3_64bits_withSeed(&header, sizeof header, kOfOpenFiles);
}

}  // namespace annulus
