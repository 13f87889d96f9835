#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/outputs/image_file.hpp>

#include <fmt/core.h>
#include <tools/plot/image_rows.hpp>
#include <tools/plot/plot.hpp>

#include <algorithm>
#include <map>
#include <memory>

#include "commands.hpp"
#include "exit_code.hpp"
#include "picture_output.hpp"
#include "print.hpp"

namespace annulus::app {
namespace {

struct PlotCommand {
  std::string input;
  std::string picture;
  bool stack = false;
  std::vector<std::string> images;
  std::string beside;
  PlotOptions options;
  bool overwrite = false;
  bool quiet = false;
};

[[noreturn]] void refuse_option(const char* option, const char* fault, const char* cure) {
  throw Error(ErrorKind::kUsage, option, fault, cure);
}

// Those that are wanted, of one file or two. `found` remembers which of the names there are.
void choose_images(std::vector<GridImage>& images, const std::vector<std::string>& wanted,
                   std::vector<bool>& found) {
  if (wanted.empty()) return;
  std::erase_if(images, [&](const GridImage& image) {
    const auto name = std::ranges::find(wanted, image.name);
    if (name == wanted.end()) return true;
    found[static_cast<std::size_t>(name - wanted.begin())] = true;
    return false;
  });
}

std::string names_of(const StoredImages& stored) {
  std::string names;
  for (const GridImage& image : stored.images) names += (names.empty() ? "" : ", ") + image.name;
  return names;
}

std::vector<std::vector<GridImage>> chosen_rows(const PlotCommand& command) {
  StoredImages own = read_images(command.input), other;
  if (!command.beside.empty()) other = read_images(command.beside);
  const std::string known = names_of(own) + (other.images.empty() ? "" : ", " + names_of(other));
  std::vector<bool> found(command.images.size(), false);
  choose_images(own.images, command.images, found);
  choose_images(other.images, command.images, found);
  if (const auto missing = std::ranges::find(found, false); missing != found.end()) {
    const auto index = static_cast<std::size_t>(missing - found.begin());
    throw Error(ErrorKind::kUsage, "`image`",
                fmt::format("there is no image {}", in_quotes(command.images[index])),
                "choose from " + known);
  }
  return rows_of_images(std::move(other.images), std::move(own.images));
}

void plot_file_of_images(const PlotCommand& command, const std::filesystem::path& picture) {
  constexpr const char* kCure = "leave it out: the file holds images";
  if (command.stack) refuse_option("`stack`", "images do not stack", kCure);
  if (!command.options.frames.empty()) refuse_option("`frame`", "images have no frames", kCure);
  if (command.options.radial_range) refuse_option("`radial_range`", "images have no radial axis", kCure);
  const auto rows = chosen_rows(command);
  check_replaceable(picture, command.overwrite);
  plot_images(rows, command.options, picture);
}

void plot_patterns(const PlotCommand& command, const std::filesystem::path& picture) {
  constexpr const char* kCure = "leave it out: the file holds patterns or cakes";
  if (!command.images.empty()) refuse_option("`image`", "only files of images have named images", kCure);
  if (!command.beside.empty()) refuse_option("`beside`", "only images are drawn beside each other", kCure);
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
  check_replaceable(picture, command.overwrite);
  if (cake) {
    plot_cake(file, command.options, picture);
  } else if (command.stack) {
    plot_stack(file, command.options, picture);
  } else {
    plot_pattern(file.read(0, file.frames()), command.options, picture);
  }
}

int plot(const PlotCommand& command) {
  std::filesystem::path picture = command.picture;
  if (picture.empty()) {
    picture = std::filesystem::path(command.input).stem().string() + (command.stack ? "_stack.png" : ".png");
  }
  if (is_image_file(command.input)) {
    plot_file_of_images(command, picture);
  } else {
    plot_patterns(command, picture);
  }
  if (!command.quiet) print("written: {}\n", on_one_line(picture.string()));
  return kSuccess;
}

}  // namespace

void add_plot(CommandLine& program) {
  Command command =
      program.add_command("plot", "Draw patterns, cakes, the stack of a scan, or images, to PNG or SVG");
  const auto state = std::make_shared<PlotCommand>();
  static const std::map<std::string, PlotScale> kScales = {
      {"linear", PlotScale::kLinear}, {"sqrt", PlotScale::kSqrt}, {"log", PlotScale::kLog}};
  const auto fault_of_scale = [](const std::string& name) {
    return kScales.contains(name) ? "" : fmt::format("'{}' is not one of linear, sqrt, log", name);
  };
  command.add_positional("input", &state->input, "NeXus file of patterns, cakes or images").required();
  command.add("output", &state->picture, "Picture, .png or .svg (default: named after the input)", 'o');
  command.add("stack", &state->stack, "All frames as a map of frame number and radial axis");
  // Without the check a number below 0 would become one near 2^64.
  command.add("frame", &state->options.frames, "Frames to draw, from 0 (default: their mean)")
      .check([](const std::string& text) {
        return text.starts_with('-') ? fmt::format("frames are numbered from 0, {} is none", text) : "";
      });
  command.add("image", &state->images, "Images to draw, by name (default: all of the file)");
  command.add("beside", &state->beside, "File of images to draw at the left of those of the input");
  command
      .add_text(
          "scale", [state](const std::string& name) { state->options.scale = kScales.at(name); },
          "linear, sqrt or log", "linear")
      .check(fault_of_scale);
  command.add("radial_range", &state->options.radial_range, "Part of the axis to show");
  command.add("title", &state->options.title, "Title (default: the file and what is drawn; of images none)");
  command.add("width", &state->options.width, "Pixels (default: 1000; of images as the panels need)");
  command.add("height", &state->options.height, "Pixels (default: 640; of images as the panels need)");
  command.add("overwrite", &state->overwrite, "Replace the picture if it exists, whoever made it");
  command.add("quiet", &state->quiet, "Print nothing but errors", 'q');
  command.set_action([state] { return plot(*state); });
}

}  // namespace annulus::app
