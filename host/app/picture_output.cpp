#include "picture_output.hpp"

#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/plot/picture_mark.hpp>

namespace annulus::app {

void check_replaceable(const std::filesystem::path& picture, bool overwrite, const char* option) {
  std::error_code unreadable;
  const auto state = std::filesystem::status(picture, unreadable);
  if (!std::filesystem::exists(state) || overwrite || is_marked_picture(picture)) return;
  throw Error(ErrorKind::kOutput, picture.string(), "exists already, and is no picture that annulus drew",
              fmt::format("use `overwrite`, or choose another {}", option));
}

}  // namespace annulus::app
