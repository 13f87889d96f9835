#include "picture_output.hpp"

#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/plot/picture_mark.hpp>

#include <map>
#include <string>

namespace annulus::app {

void check_replaceable(const std::filesystem::path& picture, bool overwrite, const char* option) {
  std::error_code unreadable;
  const auto state = std::filesystem::status(picture, unreadable);
  if (!std::filesystem::exists(state) || overwrite || is_marked_picture(picture)) return;
  throw Error(ErrorKind::kOutput, picture.string(), "exists already, and is no picture that annulus drew",
              fmt::format("use `overwrite`, or choose another {}", option));
}

void add_scale(Command& command, PlotScale& scale) {
  static const std::map<std::string, PlotScale> kScales = {
      {"linear", PlotScale::kLinear}, {"sqrt", PlotScale::kSqrt}, {"log", PlotScale::kLog}};
  command
      .add_text(
          "scale", [&scale](const std::string& name) { scale = kScales.at(name); }, "linear, sqrt or log",
          "linear")
      .check([](const std::string& name) {
        return kScales.contains(name) ? "" : fmt::format("'{}' is not one of linear, sqrt, log", name);
      });
}

}  // namespace annulus::app
