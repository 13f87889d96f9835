#include <annulus/core/error.hpp>

#include <fmt/format.h>
#include <tools/plot/plot.hpp>

#include <map>
#include <memory>

#include "commands.hpp"
#include "exit_code.hpp"

namespace annulus::app {
namespace {

struct PlotCommand {
  std::string input;
  std::string picture;
  bool stack = false;
  PlotOptions options;
  std::vector<double> radial_range;
  bool quiet = false;
};

int plot(PlotCommand& command) {
  if (!command.radial_range.empty()) {
    command.options.radial_range = Range{command.radial_range[0], command.radial_range[1]};
  }
  if (command.stack && !command.options.frames.empty()) {
    throw Error(ErrorKind::kUsage, "--frame", "a stack shows all frames",
                "leave one of --stack and --frame out");
  }
  const PatternFile file(command.input);
  const bool cake = file.header().is_cake();
  if (command.stack && cake) {
    throw Error(ErrorKind::kUsage, "--stack", "the frames of this file are cakes, which do not stack",
                "draw one with --frame, or their mean without");
  }
  std::filesystem::path picture = command.picture;
  if (picture.empty()) {
    picture = std::filesystem::path(command.input).stem().string() + (command.stack ? "_stack.png" : ".png");
  }
  if (cake) {
    plot_cake(file, command.options, picture);
  } else if (command.stack) {
    plot_stack(file, command.options, picture);
  } else {
    plot_pattern(file.read(0, file.frames()), command.options, picture);
  }
  if (!command.quiet) fmt::print("written: {}\n", picture.string());
  return kSuccess;
}

}  // namespace

Command add_plot(CLI::App& program) {
  CLI::App* const command =
      program.add_subcommand("plot", "Draw patterns, cakes, or the stack of a scan, to PNG or SVG");
  const auto state = std::make_shared<PlotCommand>();
  static const std::map<std::string, PlotScale> kScales = {
      {"linear", PlotScale::kLinear}, {"sqrt", PlotScale::kSqrt}, {"log", PlotScale::kLog}};
  const auto is_scale = [](const std::string& name) {
    return kScales.contains(name) ? "" : fmt::format("'{}' is not one of linear, sqrt, log", name);
  };
  command->add_option("input", state->input, "NeXus file that 'annulus integrate' wrote")->required();
  command->add_option("-o,--output", state->picture,
                      "Picture, .png or .svg (default: named after the input)");
  command->add_flag("--stack", state->stack, "All frames as a map of frame number and radial axis");
  // Without the check a number below 0 would become one near 2^64.
  command->add_option("--frame", state->options.frames, "Frames to draw, from 0 (default: their mean)")
      ->check(CLI::Validator(
          [](std::string& text) {
            return text.starts_with('-') ? fmt::format("frames are numbered from 0, {} is none", text)
                                         : std::string();
          },
          ""));
  command
      ->add_option_function<std::string>(
          "--scale", [state](const std::string& name) { state->options.scale = kScales.at(name); },
          "linear, sqrt or log")
      ->check(is_scale)
      ->default_str("linear");
  command->add_option("--radial-range", state->radial_range, "Part of the axis to show")
      ->expected(2)
      ->allow_extra_args(false);
  command->add_option("--title", state->options.title, "Title (default: the file and what is drawn)");
  command->add_option("--width", state->options.width, "Pixels")->capture_default_str();
  command->add_option("--height", state->options.height, "Pixels")->capture_default_str();
  command->add_flag("-q,--quiet", state->quiet, "Print nothing but errors");
  return [state] { return plot(*state); };
}

}  // namespace annulus::app
