#include <annulus/formats/checks.hpp>
#include <annulus/formats/hdf5_find.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace annulus {
namespace {

constexpr std::size_t kMaxListed = 20;
constexpr int kMaxChain = 8;  // @default may point in a circle

bool is_number(hid_t dataset) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  const H5T_class_t kind = type ? H5Tget_class(type.get()) : H5T_NO_CLASS;
  return kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_ENUM || kind == H5T_BITFIELD;
}

// The shape if the path leads to an array of numbers; an empty one is not opened by mistake.
std::optional<std::vector<hsize_t>> number_array(hid_t file, const std::string& path) {
  const Hdf5Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  H5Eclear2(H5E_DEFAULT);
  if (!dataset || !is_number(dataset.get())) return std::nullopt;
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  const int rank = space ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (rank < 0) return std::nullopt;
  std::vector<hsize_t> shape(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
  return shape;
}

bool is_image(hid_t file, const std::string& path) {
  const auto shape = number_array(file, path);
  return shape && (shape->size() == 2 || shape->size() == 3);
}

std::string text_attribute(hid_t object, const char* name) {
  const Hdf5Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  H5Eclear2(H5E_DEFAULT);
  if (!attribute) return {};
  const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
  if (!type || !space || H5Tget_class(type.get()) != H5T_STRING ||
      H5Sget_simple_extent_npoints(space.get()) != 1) {
    return {};
  }
  std::string text;
  if (H5Tis_variable_str(type.get()) > 0) {
    char* value = nullptr;
    if (H5Aread(attribute.get(), type.get(), &value) >= 0 && value != nullptr) {
      text = value;
      H5free_memory(value);
    }
  } else {
    const std::size_t size = H5Tget_size(type.get());
    if (size > 4096) return {};
    text.resize(size);
    if (H5Aread(attribute.get(), type.get(), text.data()) < 0) text.clear();
    text.resize(std::min(text.size(), text.find('\0')));
    text.resize(text.find_last_not_of(' ') + 1);
  }
  H5Eclear2(H5E_DEFAULT);
  return text;
}

std::string join(const std::string& group, const std::string& name) {
  if (name.starts_with('/')) return name;
  return group == "/" ? group + name : group + "/" + name;
}

std::optional<std::string> follow_default_chain(hid_t file) {
  std::string path = "/";
  for (int step = 0; step < kMaxChain; ++step) {
    const Hdf5Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
    H5Eclear2(H5E_DEFAULT);
    if (!object) return std::nullopt;
    if (H5Iget_type(object.get()) == H5I_DATASET) return path;
    if (const auto signal = text_attribute(object.get(), "signal"); !signal.empty())
      return join(path, signal);
    const auto next = text_attribute(object.get(), "default");
    if (next.empty() || next == ".") return std::nullopt;
    path = join(path, next);
  }
  return std::nullopt;
}

std::vector<std::string> numbered_datasets(hid_t file) {
  std::vector<std::string> paths;
  const auto path_of = [](std::size_t number) { return fmt::format("/entry/data/data_{:06}", number); };
  // The link counts, not whether it leads somewhere: a missing data file is an error, not the end of a scan.
  const Hdf5Handle group(H5Gopen2(file, "/entry/data", H5P_DEFAULT), H5Gclose);
  H5Eclear2(H5E_DEFAULT);
  if (!group) return paths;
  while (H5Lexists(file, path_of(paths.size() + 1).c_str(), H5P_DEFAULT) > 0)
    paths.push_back(path_of(paths.size() + 1));
  H5Eclear2(H5E_DEFAULT);
  return paths;
}

struct Survey {
  std::vector<std::string> images;
  std::vector<std::string> lines;  // for the message
};

// C calls this: no exception may leave it.
herr_t note_dataset(hid_t file, const char* name, const H5O_info_t* object, void* data) noexcept {
  if (object->type != H5O_TYPE_DATASET) return 0;
  auto& survey = *static_cast<Survey*>(data);
  const std::string path = std::string("/") + name;
  const auto shape = number_array(file, path);
  if (!shape) return 0;
  if (shape->size() == 2 || shape->size() == 3) survey.images.push_back(path);
  if (survey.lines.size() < kMaxListed)
    survey.lines.push_back(fmt::format("{} ({})", path, fmt::join(*shape, " x ")));
  return 0;
}

}  // namespace

std::vector<std::string> find_image_datasets(const std::string& where, hid_t file) {
  if (const auto path = follow_default_chain(file); path && is_image(file, *path)) return {*path};
  if (is_image(file, "/entry/data/data")) return {"/entry/data/data"};
  if (auto paths = numbered_datasets(file); !paths.empty()) return paths;

  Survey survey;
  if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, note_dataset, &survey, H5O_INFO_BASIC) < 0) {
    throw hdf5_error(where, "the file cannot be searched for images", "the file is damaged: copy it again");
  }
  if (survey.images.size() == 1) return survey.images;
  const char* fault =
      survey.images.empty() ? "no dataset of 2 or 3 dimensions" : "more than one dataset could be meant";
  const std::string list = survey.lines.empty() ? std::string("no array of numbers")
                                                : fmt::format("{}", fmt::join(survey.lines, ", "));
  throw input_error(
      where,
      fmt::format("{}; the file has {}{}", fault, list, survey.lines.size() == kMaxListed ? ", ..." : ""),
      fmt::format("name the dataset: {}::/path/to/dataset", where));
}

std::optional<Hdf5Number> read_number(hid_t file, const std::string& path) {
  const Hdf5Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  H5Eclear2(H5E_DEFAULT);
  if (!dataset || !is_number(dataset.get())) return std::nullopt;
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  if (!space || H5Sget_simple_extent_npoints(space.get()) != 1) return std::nullopt;
  Hdf5Number number;
  const bool good =
      H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &number.value) >= 0;
  H5Eclear2(H5E_DEFAULT);
  if (!good) return std::nullopt;
  number.units = text_attribute(dataset.get(), "units");
  return number;
}

}  // namespace annulus
