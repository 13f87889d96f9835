#include <annulus/core/error.hpp>
#include <annulus/outputs/output_folder.hpp>

#include <fmt/format.h>

namespace annulus {

void check_output_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return;
  throw Error(ErrorKind::kOutput, file.string(), fmt::format("the folder {} does not exist", folder.string()),
              "create it, or choose another place");
}

}  // namespace annulus
