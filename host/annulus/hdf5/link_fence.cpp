#include <annulus/hdf5/link_fence.hpp>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace annulus {
namespace {

namespace fs = std::filesystem;

bool is_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

}  // namespace

std::string with_origin(std::string folder, const std::string& file) {
  constexpr std::string_view kOrigin = "${ORIGIN}";
  const std::string own = fs::path(file).parent_path().string();
  if (folder.starts_with(kOrigin)) folder.replace(0, kOrigin.size(), own.empty() ? "." : own);
  return folder;
}

LinkFence::LinkFence(const std::string& file, const std::string& allowed) {
  const auto add = [this](const fs::path& folder) {
    std::error_code fault;
    fs::path real = fs::canonical(folder.empty() ? "." : folder, fault);
    if (!fault) folders_.push_back(std::move(real));
  };
  add(fs::path(file).parent_path());
  std::error_code fault;
  if (const fs::path real = fs::canonical(file, fault); !fault) add(real.parent_path());
  if (!allowed.empty()) add(allowed);
  for (const char* variable : {"HDF5_EXT_PREFIX", "HDF5_VDS_PREFIX", "HDF5_EXTFILE_PREFIX"}) {
    const char* const folder = std::getenv(variable);
    if (folder != nullptr && *folder != '\0') add(with_origin(folder, file));
  }
}

bool LinkFence::allows(const std::string& path) const {
  std::error_code fault;
  const fs::path real = fs::canonical(path, fault);
  if (fault) return true;  // there is no such file
  if (std::ranges::any_of(folders_, [&](const fs::path& folder) { return is_below(real, folder); }))
    return true;
  const std::lock_guard lock(mutex_);
  if (!refused_) refused_ = real.string();
  return false;
}

std::optional<std::string> LinkFence::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

}  // namespace annulus
