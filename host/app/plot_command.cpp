#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/plot/picture_mark.hpp>
#include <tools/plot/plot.hpp>

#include <map>
#include <memory>

#include "commands.hpp"
#include "exit_code.hpp"
#include "print.hpp"

namespace annulus::app {
namespace {

struct PlotCommand {
  std::string input;
  std::string picture;
  bool stack = false;
  PlotOptions options;
  bool overwrite = false;
  bool quiet = false;
};

// Drawing again is what one does all day; the files of others are not touched unasked.
void check_replaceable(const std::filesystem::path& picture, bool overwrite) {
  std::error_code unreadable;
  const auto state = std::filesystem::status(picture, unreadable);
  if (!std::filesystem::exists(state) || overwrite || is_marked_picture(picture)) return;
  throw Error(ErrorKind::kOutput, picture.string(), "exists already, and is no picture that annulus drew",
              "use `overwrite`, or choose another `output`");
}

int plot(const PlotCommand& command) {
  if (command.stack && !command.options.frames.empty()) {
    throw Error(ErrorKind::kUsage, "`frame`", "a stack shows all frames",
                "leave one of `stack` and `frame` out");
  }
  const PatternFile file(command.input);
  const bool cake = file.header().axes.size() > 1;
  if (command.stack && cake) {
    throw Error(ErrorKind::kUsage, "`stack`", "the frames of this file are cakes, which do not stack",
                "draw one with `frame`, or their mean without");
  }
  std::filesystem::path picture = command.picture;
  if (picture.empty()) {
    picture = std::filesystem::path(command.input).stem().string() + (command.stack ? "_stack.png" : ".png");
  }
  check_replaceable(picture, command.overwrite);
  if (cake) {
    plot_cake(file, command.options, picture);
  } else if (command.stack) {
    plot_stack(file, command.options, picture);
  } else {
    plot_pattern(file.read(0, file.frames()), command.options, picture);
  }
  if (!command.quiet) print("written: {}\n", on_one_line(picture.string()));
  return kSuccess;
}

}  // namespace

void add_plot(CommandLine& program) {
  Command command =
      program.add_command("plot", "Draw patterns, cakes, or the stack of a scan, to PNG or SVG");
  const auto state = std::make_shared<PlotCommand>();
  static const std::map<std::string, PlotScale> kScales = {
      {"linear", PlotScale::kLinear}, {"sqrt", PlotScale::kSqrt}, {"log", PlotScale::kLog}};
  const auto fault_of_scale = [](const std::string& name) {
    return kScales.contains(name) ? "" : fmt::format("'{}' is not one of linear, sqrt, log", name);
  };
  command.add_positional("input", &state->input, "NeXus file that 'annulus integrate' wrote").required();
  command.add("output", &state->picture, "Picture, .png or .svg (default: named after the input)", 'o');
  command.add("stack", &state->stack, "All frames as a map of frame number and radial axis");
  // Without the check a number below 0 would become one near 2^64.
  command.add("frame", &state->options.frames, "Frames to draw, from 0 (default: their mean)")
      .check([](const std::string& text) {
        return text.starts_with('-') ? fmt::format("frames are numbered from 0, {} is none", text) : "";
      });
  command
      .add_text(
          "scale", [state](const std::string& name) { state->options.scale = kScales.at(name); },
          "linear, sqrt or log", "linear")
      .check(fault_of_scale);
  command.add("radial_range", &state->options.radial_range, "Part of the axis to show");
  command.add("title", &state->options.title, "Title (default: the file and what is drawn)");
  command.add("width", &state->options.width, "Pixels");
  command.add("height", &state->options.height, "Pixels");
  command.add("overwrite", &state->overwrite, "Replace the picture if it exists, whoever made it");
  command.add("quiet", &state->quiet, "Print nothing but errors", 'q');
  command.set_action([state] { return plot(*state); });
}

}  // namespace annulus::app
