#include <annulus/core/private_folder.hpp>

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace annulus {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
constexpr mode_t kPrivateFolderMode = 0700;

// 0, or why it cannot be made.
int make_folder(const fs::path& folder) {
  struct stat status {};
  if (folder.empty() || ::stat(folder.c_str(), &status) == 0) return 0;
  if (errno != ENOENT) return errno;
  if (const int code = make_folder(folder.parent_path()); code != 0) return code;
  return ::mkdir(folder.c_str(), kPrivateFolderMode) != 0 && errno != EEXIST ? errno : 0;
}

}  // namespace

std::string distrust(const struct stat& status) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return fmt::format("belongs to another user (number {}; this is number {})", status.st_uid, ::geteuid());
  }
  const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  if ((status.st_mode & kOthersWrite) != 0 && !sticky) {
    return fmt::format("can be changed by other users (its mode is {:04o})", status.st_mode & 07777);
  }
  return {};
}

std::string private_folder_fault(const fs::path& folder) {
  const auto because = [](int code) { return std::generic_category().message(code); };
  if (const int code = make_folder(folder); code != 0) return "cannot be made: " + because(code);
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return "cannot be used: " + because(errno);
  if (!S_ISDIR(status.st_mode)) return "is not a folder";
  const std::string fault = distrust(status);
  if (fault.empty()) return {};
  return fmt::format(
      "{}, so nothing in it is believed: 'chown' it to yourself or to root, and 'chmod go-w' it", fault);
}

}  // namespace annulus
