#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <stdlib.h>
#include <tools/bench/scratch_folder.hpp>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace annulus {

ScratchFolder::ScratchFolder(const std::filesystem::path& parent) {
  std::error_code fault;
  const std::filesystem::path folder = parent.empty() ? std::filesystem::temp_directory_path(fault) : parent;
  std::string name = (folder / "annulus-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorKind::kOutput, folder.string(),
                fmt::format("no folder can be made in it: {}", std::strerror(errno)),
                "name another with `scratch`");
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace annulus
