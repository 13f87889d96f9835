#include <annulus/core/atomic_file.hpp>
#include <annulus/core/error.hpp>
#include <annulus/outputs/file_beside.hpp>
#include <annulus/outputs/guarded_file.hpp>
#include <annulus/outputs/nexus_sink.hpp>

#include <cstring>
#include <optional>
#include <string>

namespace annulus {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_place(const fs::path& path, const std::string& what) {
  throw Error(ErrorKind::kOutput, path.string(), what, "choose another `output`");
}

}  // namespace

FileBeside::FileBeside(const fs::path& path, bool overwrite) {
  const OutputPlace place = find_place(path, overwrite ? IfExists::kOverwrite : IfExists::kRefuse);
  place_ = place.path;
  replaces_ = place.holds != OutputPlace::Holds::kNothing;
  remove_abandoned(place_);
  name_ = temporary_name(place_, 0);
}

FileBeside::~FileBeside() {
  std::error_code ignored;
  fs::remove(name_, ignored);
}

void FileBeside::take_place() {
  WriteFault fault;
  std::optional<WriterLock> old;
  if (replaces_) {
    if (!old.emplace(place_, fault)) {
      refuse_place(place_, fault.locked_out
                               ? "another program is writing this file"
                               : std::string("cannot be replaced: ") + std::strerror(fault.open_error));
    }
    old->pass_on_permissions(name_);
  }
  if (const int failure = give_name(name_, place_, replaces_); failure != 0)
    refuse_place(place_, std::string("cannot be given its name: ") + std::strerror(failure));
  sync_folder_of(place_);
}

}  // namespace annulus
