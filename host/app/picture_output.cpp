#include "picture_output.hpp"

#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>

#include <fmt/core.h>
#include <tools/plot/picture_mark.hpp>

#include <map>
#include <string>

namespace annulus::app {

void check_replaceable(const std::filesystem::path& picture, bool overwrite, const char* option) {
  std::error_code unreadable;
  const std::filesystem::path folder = picture.has_parent_path() ? picture.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, unreadable)) {
    throw Error(ErrorKind::kOutput, picture.string(), "there is no folder " + folder.string(),
                fmt::format("create it, or choose another {}", option));
  }
  const auto state = std::filesystem::status(picture, unreadable);
  if (!std::filesystem::exists(state) || overwrite || is_marked_picture(picture)) return;
  throw Error(ErrorKind::kOutput, picture.string(), "exists already, and is no picture that annulus drew",
              fmt::format("use `overwrite`, or choose another {}", option));
}

void check_picture_beside(const std::filesystem::path& picture, const std::filesystem::path& output,
                          bool overwrite) {
  constexpr const char* kOption = "`picture`";
  const std::string ending = picture.extension().string();
  if (ending != ".png" && ending != ".svg") {
    throw Error(ErrorKind::kUsage, kOption, in_quotes(picture.string()) + " is no name of a picture",
                "its name ends in .png or .svg");
  }
  std::error_code ignored;
  const bool same = std::filesystem::weakly_canonical(picture, ignored) ==
                        std::filesystem::weakly_canonical(output, ignored) ||
                    std::filesystem::equivalent(picture, output, ignored);
  if (same) {
    throw Error(ErrorKind::kUsage, kOption, in_quotes(picture.string()) + " is the name of the output too",
                "choose another");
  }
  check_replaceable(picture, overwrite, kOption);
}

Option add_scale(Command& command, PlotScale& scale) {
  static const std::map<std::string, PlotScale> kScales = {
      {"linear", PlotScale::kLinear}, {"sqrt", PlotScale::kSqrt}, {"log", PlotScale::kLog}};
  return command
      .add_text(
          "scale", [&scale](const std::string& name) { scale = kScales.at(name); }, "linear, sqrt or log",
          "linear")
      .check([](const std::string& name) {
        return kScales.contains(name) ? "" : fmt::format("'{}' is not one of linear, sqrt, log", name);
      });
}

}  // namespace annulus::app
