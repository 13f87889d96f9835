#include <annulus/sources/hdf5_file.hpp>
#include <annulus/sources/hdf5_find.hpp>
#include <annulus/sources/hdf5_virtual.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/header_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string_view>
#include <utility>

namespace annulus {
namespace {

constexpr std::size_t kMaxListed = 20;
constexpr hssize_t kMostNumbers = 1 << 24;  // one a frame, of the longest scans
constexpr int kMaxChain = 8;                // @default may point in a circle

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

// An image, a stack of them, or a grid: the last two dimensions are rows and columns.
bool holds_images(const std::vector<hsize_t>& shape) { return shape.size() >= 2; }

bool is_image(hid_t file, const std::string& path) {
  const auto shape = number_array(file, path);
  return shape && holds_images(*shape);
}

// One text of fixed or variable length, which `read` puts where it is told; empty if it is anything else.
template <typename Read>
std::string text_of(const Hdf5Handle& type, const Hdf5Handle& space, Read&& read) {
  if (!type || !space || H5Tget_class(type.get()) != H5T_STRING ||
      H5Sget_simple_extent_npoints(space.get()) != 1) {
    return {};
  }
  std::string text;
  if (H5Tis_variable_str(type.get()) > 0) {
    char* value = nullptr;
    if (read(&value) >= 0 && value != nullptr) {
      text = value;
      H5free_memory(value);
    }
  } else {
    const std::size_t size = H5Tget_size(type.get());
    if (size > 4096) return {};
    text.resize(size);
    if (read(text.data()) < 0) text.clear();
    text.resize(std::min(text.size(), text.find('\0')));
    text.resize(text.find_last_not_of(' ') + 1);
  }
  H5Eclear2(H5E_DEFAULT);
  return text;
}

std::string text_attribute(hid_t object, const char* name) {
  const Hdf5Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  H5Eclear2(H5E_DEFAULT);
  if (!attribute) return {};
  const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
  return text_of(type, space, [&](void* to) { return H5Aread(attribute.get(), type.get(), to); });
}

std::string join(const std::string& group, const std::string& name) {
  if (name.starts_with('/')) return name;
  return group == "/" ? group + name : group + "/" + name;
}

// What the file calls its default plot: up to where that cannot be followed. None if it names none.
std::optional<std::string> follow_default_chain(hid_t file) {
  std::string path = "/";
  for (int step = 0; step < kMaxChain; ++step) {
    const Hdf5Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
    H5Eclear2(H5E_DEFAULT);
    if (!object) return path;
    if (H5Iget_type(object.get()) == H5I_DATASET) return path;
    if (const auto signal = text_attribute(object.get(), "signal"); !signal.empty())
      return join(path, signal);
    const auto next = text_attribute(object.get(), "default");
    if (next.empty() || next == ".") return std::nullopt;
    path = join(path, next);
  }
  return std::nullopt;
}

constexpr const char* kDataGroup = "/entry/data";

// The number in data_000001, if it is such a name.
std::optional<std::uint64_t> number_in(std::string_view name) {
  constexpr std::string_view kStart = "data_";
  if (!name.starts_with(kStart) || name.size() == kStart.size() || name.size() > kStart.size() + 18)
    return std::nullopt;
  std::uint64_t number = 0;
  for (const char digit : name.substr(kStart.size())) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = 10 * number + static_cast<std::uint64_t>(digit - '0');
  }
  return number;
}

using NumberedNames = std::vector<std::pair<std::uint64_t, std::string>>;

// C calls this: no exception may leave it.
herr_t note_numbered(hid_t, const char* name, const H5L_info_t*, void* data) noexcept {
  if (const auto number = number_in(name)) static_cast<NumberedNames*>(data)->emplace_back(*number, name);
  return 0;
}

// By number: data_999999 comes before data_1000000. The link counts, not whether it leads somewhere: a
// missing data file is an error, not the end of a scan.
std::vector<std::string> numbered_datasets(hid_t file) {
  NumberedNames names;
  const Hdf5Handle group(H5Gopen2(file, kDataGroup, H5P_DEFAULT), H5Gclose);
  if (group) H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, note_numbered, &names);
  H5Eclear2(H5E_DEFAULT);
  std::ranges::sort(names);
  std::vector<std::string> paths;
  for (const auto& [number, name] : names) paths.push_back(join(kDataGroup, name));
  return paths;
}

struct StackType {
  Hdf5Handle type;
  std::vector<hsize_t> shape;
};

// None if it cannot be opened.
std::optional<StackType> stack_type(hid_t file, const std::string& path) {
  const auto shape = number_array(file, path);
  const Hdf5Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  H5Eclear2(H5E_DEFAULT);
  if (!shape || !dataset) return std::nullopt;
  return StackType{Hdf5Handle(H5Dget_type(dataset.get()), H5Tclose), *shape};
}

// Whether what a virtual dataset calls its source is the dataset at `path`, directly or by its link.
bool leads_to(hid_t file, const std::string& path, const VirtualRun& source) {
  const auto name_of_file = [](const std::string& name) { return name.substr(name.rfind('/') + 1); };
  const auto from_root = [](const std::string& name) { return name.starts_with('/') ? name : "/" + name; };
  if (source.file == "." && from_root(source.dataset) == path) return true;
  const auto target = external_target(file, path);
  return target && name_of_file(source.file) == name_of_file(target->file) &&
         from_root(source.dataset) == from_root(target->path);
}

// The numbered datasets are read quicker than a virtual one that sets them one behind the other, and say what
// is missing. It may arrange them in other ways too, of which they know nothing.
bool strings_together(hid_t file, const std::string& path, const std::vector<std::string>& numbered,
                      bool growing) {
  const auto whole = stack_type(file, path);
  if (!whole) return false;
  const Hdf5Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle properties(H5Dget_create_plist(dataset.get()), H5Pclose);
  if (!properties || !is_virtual(properties.get())) return false;
  const auto runs = virtual_runs(virtual_pieces(path, properties.get()), whole->shape);
  if (runs.size() != numbered.size()) return false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!leads_to(file, numbered[i], runs[i])) return false;
    const auto part = stack_type(file, numbered[i]);
    if (!part) continue;
    if (part->shape.size() != 3 || H5Tequal(part->type.get(), whole->type.get()) <= 0 ||
        !std::ranges::equal(part->shape | std::views::drop(1), whole->shape | std::views::drop(1)) ||
        (growing ? part->shape[0] > runs[i].frames : part->shape[0] != runs[i].frames)) {
      return false;
    }
  }
  return true;
}

// The part of a path at which a link leads nowhere: a file that is missing, or that its writer has.
std::optional<std::string> broken_link(hid_t file, const std::string& path) {
  for (std::size_t end = 1; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    const bool linked = H5Lexists(file, part.c_str(), H5P_DEFAULT) > 0;
    const bool there = linked && H5Oexists_by_name(file, part.c_str(), H5P_DEFAULT) > 0;
    H5Eclear2(H5E_DEFAULT);
    if (!linked) return std::nullopt;
    if (!there) return part;
  }
  return std::nullopt;
}

// What belongs to a detector is not its scan, even if nothing else is there.
bool describes_the_detector(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "pixel_mask" || name == "flatfield";
}

struct Survey {
  std::vector<std::string> images;
  std::vector<std::string> lines;   // for the message
  std::optional<Error> unreadable;  // why the first dataset that cannot be opened cannot
  std::string where;
};

// C calls this: no exception may leave it.
herr_t note_dataset(hid_t file, const char* name, const H5O_info_t* object, void* data) noexcept {
  if (object->type != H5O_TYPE_DATASET) return 0;
  auto& survey = *static_cast<Survey*>(data);
  const std::string path = std::string("/") + name;
  const auto shape = number_array(file, path);
  if (!shape) {
    const Hdf5Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset && !survey.unreadable)
      survey.unreadable =
          hdf5_error(join_url(survey.where, path), "the dataset cannot be opened", kCopyAgain);
    H5Eclear2(H5E_DEFAULT);
    return 0;
  }
  if (holds_images(*shape) && !describes_the_detector(path)) survey.images.push_back(path);
  if (survey.lines.size() < kMaxListed)
    survey.lines.push_back(fmt::format("{} ({})", path, fmt::join(*shape, " x ")));
  return 0;
}

Survey look_through(const std::string& where, hid_t file) {
  Survey survey;
  survey.where = where;
  if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, note_dataset, &survey, H5O_INFO_BASIC) < 0) {
    throw hdf5_error(where, "the file cannot be searched for images", "the file is damaged: copy it again");
  }
  return survey;
}

Error name_the_dataset(const std::string& where, const std::string& fault, const Survey& survey) {
  const std::string list = survey.lines.empty() ? std::string("no array of numbers")
                                                : fmt::format("{}", fmt::join(survey.lines, ", "));
  return input_error(
      where,
      fmt::format("{}; the file has {}{}", fault, list, survey.lines.size() == kMaxListed ? ", ..." : ""),
      fmt::format("name the dataset: {}::/path/to/dataset", where));
}

bool is_in_data_group(const std::string& path) { return path.starts_with(std::string(kDataGroup) + "/"); }

// What a file calls its default plot is what it means: if that holds no images, nothing else is taken for
// them.
void check_default_plot(const std::string& where, hid_t file, const std::string& path, bool growing,
                        bool numbered) {
  const auto shape = number_array(file, path);
  // It may still come; and a master file may call its images by a name that only a virtual dataset of them
  // would have.
  if (!shape && (growing || (numbered && is_in_data_group(path)))) return;
  const Hdf5Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset) {
    throw hdf5_error(join_url(where, path), "the default plot of the file cannot be opened",
                     fmt::format("name another dataset: {}::/path/to/dataset", where));
  }
  const std::string what = shape ? fmt::format("has the shape ({})", fmt::join(*shape, " x "))
                                 : std::string("is no array of numbers that can be read");
  throw name_the_dataset(where,
                         fmt::format("its default plot, {}, {}: no images", printable(path, 200), what),
                         look_through(where, file));
}

}  // namespace

std::vector<std::string> find_image_datasets(const std::string& where, hid_t file, bool growing) {
  const std::vector<std::string> numbered = numbered_datasets(file);
  const auto choose = [&](const std::string& path) {
    const bool all =
        !numbered.empty() && is_in_data_group(path) &&
        (number_in(path.substr(path.rfind('/') + 1)) || strings_together(file, path, numbered, growing));
    return all ? numbered : std::vector{path};
  };
  const auto plot = follow_default_chain(file);
  for (const auto& path : {plot, std::optional<std::string>("/entry/data/data")}) {
    if (!path) continue;
    if (is_image(file, *path)) return choose(*path);
    // Whoever opens it says what is missing; anything else in the file is not what was meant.
    if (const auto broken = broken_link(file, *path)) return choose(*broken);
    if (path == plot) check_default_plot(where, file, *path, growing, !numbered.empty());
  }
  if (!numbered.empty()) return numbered;
  // What will be the scan may not be there yet.
  if (growing) {
    throw input_error(where, "the file does not say yet which dataset holds its images",
                      fmt::format("name the dataset: {}::/path/to/dataset", where));
  }

  const Survey survey = look_through(where, file);
  // It may be the one that is meant.
  if (const auto& fault = survey.unreadable) {
    throw input_error(
        fault->where(), fault->fault(),
        fmt::format("{}; or name the dataset that you mean: {}::/path/to/dataset", fault->cure(), where));
  }
  if (survey.images.size() == 1) return survey.images;
  throw name_the_dataset(
      where,
      survey.images.empty() ? "no dataset of 2 dimensions or more" : "more than one dataset could be meant",
      survey);
}

bool is_in_raw_files(hid_t dataset) {
  const Hdf5Handle properties(H5Dget_create_plist(dataset), H5Pclose);
  return !properties || H5Pget_external_count(properties.get()) > 0;
}

std::optional<Hdf5Number> read_number(hid_t file, const std::string& path) {
  const auto shape = number_array(file, path);
  if (!shape || std::ranges::any_of(*shape, [](hsize_t side) { return side != 1; })) return std::nullopt;
  auto number = read_largest_number(file, path);
  if (number && std::isnan(number->value)) return std::nullopt;
  return number;
}

std::optional<Hdf5Number> read_largest_number(hid_t file, const std::string& path) {
  const auto shape = number_array(file, path);
  if (!shape || std::ranges::count(*shape, hsize_t{0}) > 0) return std::nullopt;
  const Hdf5Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  const hssize_t numbers = space ? H5Sget_simple_extent_npoints(space.get()) : 0;
  Hdf5Number largest{.value = std::numeric_limits<double>::quiet_NaN(),
                     .units = text_attribute(dataset.get(), "units")};
  if (numbers < 1 || numbers > kMostNumbers || is_in_raw_files(dataset.get())) return largest;
  std::vector<double> values(static_cast<std::size_t>(numbers));
  const bool good =
      H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0;
  H5Eclear2(H5E_DEFAULT);
  if (!good) return largest;
  for (const double value : values) {
    if (!(std::abs(value) <= std::abs(largest.value)))
      largest.value = std::isnan(value) ? largest.value : value;
  }
  return largest;
}

std::string read_label(hid_t file, const std::string& path) {
  const Hdf5Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  H5Eclear2(H5E_DEFAULT);
  if (!dataset || is_in_raw_files(dataset.get())) return {};
  const Hdf5Handle type(H5Dget_type(dataset.get()), H5Tclose);
  const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
  return text_of(type, space, [&](void* to) {
    return H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
  });
}

}  // namespace annulus
