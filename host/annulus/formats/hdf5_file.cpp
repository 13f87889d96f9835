#include <annulus/formats/checks.hpp>
#include <annulus/formats/hdf5_file.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

namespace annulus {
namespace {

namespace fs = std::filesystem;

// The folders of HDF5_EXT_PREFIX, that of the file with the link, and the working directory, in this order; a
// link by an absolute name may also have moved with its file.
std::optional<std::string> find_linked_file(const std::string& linking, const std::string& name) {
  const fs::path folder = fs::path(linking).parent_path();
  const fs::path given(name);
  std::vector<fs::path> candidates;
  if (given.is_absolute()) candidates.push_back(given);
  const fs::path relative = given.is_absolute() ? given.filename() : given;
  if (const char* const prefix = std::getenv("HDF5_EXT_PREFIX"); prefix != nullptr && *prefix != '\0') {
    std::string text = prefix;
    if (text.starts_with("${ORIGIN}")) text.replace(0, 9, folder.empty() ? "." : folder.string());
    candidates.push_back(fs::path(text) / relative);
  }
  candidates.push_back(folder / relative);
  candidates.push_back(relative);
  std::error_code ignored;
  for (const fs::path& candidate : candidates) {
    if (fs::exists(candidate, ignored)) return candidate.string();
  }
  return std::nullopt;
}

}  // namespace

Hdf5Handle open_hdf5_file(const std::string& path) {
  const auto open = [&](unsigned mode) {
    H5Eclear2(H5E_DEFAULT);
    return Hdf5Handle(H5Fopen(path.c_str(), mode, H5P_DEFAULT), H5Fclose);
  };
  if (auto file = open(H5F_ACC_RDONLY)) return file;
  // A file that somebody is writing opens only in the mode made for that.
  if (auto file = open(H5F_ACC_RDONLY | H5F_ACC_SWMR_READ)) return file;
  // Once more for the message, which is about the plain mode then.
  if (auto file = open(H5F_ACC_RDONLY)) return file;
  throw hdf5_error(path, "cannot be opened as HDF5",
                   "copy it again if it is damaged; wait if it is being written");
}

std::optional<DatasetPlace> external_target(hid_t file, const std::string& path) {
  H5L_info_t link{};
  const bool external =
      H5Lget_info(file, path.c_str(), &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_EXTERNAL;
  H5Eclear2(H5E_DEFAULT);
  if (!external) return std::nullopt;
  std::vector<char> value(link.u.val_size);
  unsigned flags = 0;
  const char* name = nullptr;
  const char* object = nullptr;
  if (H5Lget_val(file, path.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0 ||
      H5Lunpack_elink_val(value.data(), value.size(), &flags, &name, &object) < 0) {
    throw hdf5_error(path, "the link cannot be read", "the file is damaged or incomplete: copy it again");
  }
  return DatasetPlace{name, object};
}

DatasetPlace locate_dataset(hid_t file, const std::string& file_path, const std::string& path) {
  const auto target = external_target(file, path);
  if (!target) return {file_path, path};
  if (const auto found = find_linked_file(file_path, target->file)) return {*found, target->path};
  throw input_error(file_path + "::" + path, fmt::format("it is in {}, which is missing", target->file),
                    "copy that file beside this one; --follow waits for one that is still to come");
}

}  // namespace annulus
