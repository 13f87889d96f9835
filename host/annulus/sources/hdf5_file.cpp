#include <annulus/hdf5/open_file.hpp>
#include <annulus/sources/hdf5_file.hpp>
#include <annulus/sources/header_checks.hpp>
#include <annulus/sources/header_text.hpp>

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 32;  // links may lead in a circle

}  // namespace

Error hdf5_error(const std::string& where, const std::string& what, const std::string& cure) {
  const std::string reason = printable(hdf5_reason(), 300);
  if (reason.find("version number") == std::string::npos)
    return input_error(where, fmt::format("{}: HDF5 says \"{}\"", what, reason), cure);
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return input_error(
      where,
      fmt::format("{}: it is damaged, or in a newer file format than HDF5 {}.{}.{} reads: HDF5 says \"{}\"",
                  what, major, minor, release, reason),
      "write it in an older format: with h5py, libver=(\"earliest\", \"v110\")");
}

void check_fence(const std::string& where, const std::string& path, const LinkFence& fence) {
  if (fence.allows(path)) return;
  throw input_error(
      where, fmt::format("it leads to {}, which is not below the folder of the file", printable(path, 300)),
      "if you trust it, `allow_links` names a folder below which files may be read");
}

std::optional<std::string> find_linked_file(const std::string& linking, const std::string& name,
                                            const char* prefix_variable) {
  const fs::path given(name);
  std::vector<fs::path> candidates;
  if (given.is_absolute()) candidates.push_back(given);
  const fs::path relative = given.is_absolute() ? given.filename() : given;
  if (const char* const prefix = std::getenv(prefix_variable); prefix != nullptr && *prefix != '\0')
    candidates.push_back(fs::path(with_origin(prefix, linking)) / relative);
  candidates.push_back(fs::path(linking).parent_path() / relative);
  candidates.push_back(relative);
  std::error_code ignored;
  candidates.push_back(fs::canonical(linking, ignored).parent_path() / relative);
  for (const fs::path& candidate : candidates) {
    if (fs::exists(candidate, ignored)) return candidate.string();
  }
  return std::nullopt;
}

Hdf5Handle open_hdf5_file(const std::string& path, const Fence& fence) {
  if (auto file = open_to_read(path, ReadFirst::kAsClosed, fence)) return file;
  throw hdf5_error(path, "cannot be opened as HDF5",
                   "copy it again if it is damaged; wait if it is being written");
}

namespace {

// What a link holds, for links that are names.
std::vector<char> link_value(hid_t file, const std::string& path, const H5L_info_t& link) {
  std::vector<char> value(link.u.val_size + 1);  // with an end in any case
  if (H5Lget_val(file, path.c_str(), value.data(), link.u.val_size, H5P_DEFAULT) < 0)
    throw hdf5_error(path, "the link cannot be read", kCopyAgain);
  return value;
}

DatasetPlace unpack_external(const std::string& path, const std::vector<char>& value) {
  unsigned flags = 0;
  const char* name = nullptr;
  const char* object = nullptr;
  if (H5Lunpack_elink_val(value.data(), value.size() - 1, &flags, &name, &object) < 0)
    throw hdf5_error(path, "the link cannot be read", kCopyAgain);
  return {name, object};
}

std::string under(const std::string& group, const std::string& name) {
  if (name.starts_with('/')) return name;
  return group.ends_with('/') ? group + name : group + "/" + name;
}

// One link after the other, each from the file that holds it.
DatasetPlace resolve(hid_t file, const std::string& file_path, std::string path, const Fence& fence,
                     int& links_left) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string step = path.substr(0, end);
    H5L_info_t link{};
    const bool linked = H5Lget_info(file, step.c_str(), &link, H5P_DEFAULT) >= 0;
    H5Eclear2(H5E_DEFAULT);
    if (!linked) break;  // whoever opens it says so
    if (link.type != H5L_TYPE_SOFT && link.type != H5L_TYPE_EXTERNAL) continue;
    if (--links_left < 0)
      throw input_error(join_url(file_path, path), "its links lead in a circle", "name the dataset itself");
    const std::string rest = end == std::string::npos ? "" : path.substr(end);
    const std::vector<char> value = link_value(file, step, link);
    if (link.type == H5L_TYPE_SOFT) {
      path = under(step.substr(0, step.rfind('/') + 1), value.data()) + rest;
      end = 0;
      continue;
    }
    const DatasetPlace target = unpack_external(step, value);
    const auto found = find_linked_file(file_path, target.file);
    if (!found) {
      throw input_error(join_url(file_path, step), fmt::format("it is in {}, which is missing", target.file),
                        "copy that file beside this one; `follow` waits for one that is still to come");
    }
    check_fence(join_url(file_path, step), *found, *fence);
    const Hdf5Handle next = open_hdf5_file(*found, fence);
    return resolve(next.get(), *found, under("/", target.path) + rest, fence, links_left);
  }
  return {file_path, path};
}

}  // namespace

std::optional<DatasetPlace> external_target(hid_t file, const std::string& path) {
  H5L_info_t link{};
  const bool external =
      H5Lget_info(file, path.c_str(), &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_EXTERNAL;
  H5Eclear2(H5E_DEFAULT);
  if (!external) return std::nullopt;
  return unpack_external(path, link_value(file, path, link));
}

DatasetPlace locate_dataset(hid_t file, const std::string& file_path, const std::string& path,
                            const Fence& fence) {
  int links_left = kMostLinks;
  return resolve(file, file_path, path, fence, links_left);
}

}  // namespace annulus
