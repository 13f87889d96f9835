#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/simulate/output_files.hpp>

#include <system_error>

namespace annulus {

namespace fs = std::filesystem;

void check_prefix(const std::string& prefix) {
  if (!prefix.empty() && prefix.find('/') == std::string::npos && prefix.find('\0') == std::string::npos)
    return;
  throw Error(ErrorKind::kUsage, fmt::format("prefix '{}'", prefix), "it cannot begin a file's name",
              "use letters, digits, '_' and '-'");
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error || folder.empty()) return;
  throw Error(ErrorKind::kOutput, folder.string(),
              fmt::format("the folder cannot be made: {}", error.message()),
              "choose a folder that can be written");
}

void refuse_existing(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return;
  throw Error(ErrorKind::kOutput, path.string(), "the file is already there",
              "choose another folder or prefix, or give `overwrite`");
}

}  // namespace annulus
