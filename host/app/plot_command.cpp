#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/fxs/correlation_reader.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/xrd_ct/volume_reader.hpp>

#include <fmt/core.h>
#include <tools/plot/image_rows.hpp>
#include <tools/plot/plot.hpp>

#include <algorithm>
#include <array>
#include <charconv>
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
  std::string voxel;
  std::string view;
  bool absolute = false;
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

std::string names_of(const std::vector<GridImage>& images) {
  std::string names;
  for (const GridImage& image : images) names += (names.empty() ? "" : ", ") + image.name;
  return names;
}

// Of a tomogram of all bins, their mean.
std::vector<GridImage> images_of(const std::string& file, const PlotCommand& command) {
  if (derived_file(file) != DerivedFile::kVolume) return read_images(file).images;
  return {VolumeFile(file).mean_image(command.options.radial_range)};
}

std::vector<std::vector<GridImage>> chosen_rows(const PlotCommand& command) {
  std::vector<GridImage> own = images_of(command.input, command), other;
  if (!command.beside.empty()) other = images_of(command.beside, command);
  const std::string known = names_of(own) + (other.empty() ? "" : ", " + names_of(other));
  std::vector<bool> found(command.images.size(), false);
  choose_images(own, command.images, found);
  choose_images(other, command.images, found);
  if (const auto missing = std::ranges::find(found, false); missing != found.end()) {
    const auto index = static_cast<std::size_t>(missing - found.begin());
    throw Error(ErrorKind::kUsage, "`image`",
                fmt::format("there is no image {}", in_quotes(command.images[index])),
                "choose from " + known);
  }
  return rows_of_images(std::move(other), std::move(own));
}

void plot_file_of_images(const PlotCommand& command, const std::filesystem::path& picture) {
  constexpr const char* kCure = "leave it out: the file holds images";
  if (command.stack) refuse_option("`stack`", "images do not stack", kCure);
  if (!command.options.frames.empty()) refuse_option("`frame`", "images have no frames", kCure);
  if (!command.voxel.empty()) refuse_option("`voxel`", "only tomograms of all bins have patterns", kCure);
  const bool has_volume = derived_file(command.input) == DerivedFile::kVolume ||
                          (!command.beside.empty() && derived_file(command.beside) == DerivedFile::kVolume);
  if (command.options.radial_range && !has_volume)
    refuse_option("`radial_range`", "images have no radial axis", kCure);
  const auto rows = chosen_rows(command);
  check_replaceable(picture, command.overwrite);
  plot_images(rows, command.options, picture);
}

std::pair<std::size_t, std::size_t> parse_voxel(const std::string& text) {
  std::array<std::size_t, 2> place{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < 2; ++i) {
    const auto [next, fault] = std::from_chars(at, end, place[i]);
    const bool ended = i == 0 ? next != end && *next == ',' : next == end;
    if (fault != std::errc() || !ended)
      throw Error(ErrorKind::kUsage, "`voxel`", fmt::format("{} is no voxel", in_quotes(text)),
                  "give its indices as Y,X, counted from 0");
    at = next + (i == 0 ? 1 : 0);
  }
  return {place[0], place[1]};
}

std::string with_unit(const ImageAxis& axis, std::size_t at) {
  return fmt::format("{:.6g}{}{}", axis.positions[at], axis.unit.empty() ? "" : " ", axis.unit);
}

// The pattern of a voxel as a line.
void plot_voxel(const PlotCommand& command, const std::filesystem::path& picture) {
  constexpr const char* kCure = "leave it out: a voxel has one pattern";
  if (command.stack) refuse_option("`stack`", "a voxel has no frames to stack", kCure);
  if (!command.options.frames.empty()) refuse_option("`frame`", "a voxel has no frames", kCure);
  if (!command.images.empty()) refuse_option("`image`", "a voxel is no image", kCure);
  if (!command.beside.empty()) refuse_option("`beside`", "only images are drawn beside each other", kCure);
  const VolumeFile volume(command.input);
  const auto [y, x] = parse_voxel(command.voxel);
  StoredPatterns pattern;
  pattern.file = volume.path();
  pattern.header.axes = {volume.radial()};
  pattern.frames.resize(1);
  pattern.intensities = volume.pattern(y, x);
  PlotOptions options = command.options;
  if (options.title.empty()) {
    options.title = fmt::format("{}: voxel {},{} at y = {}, x = {}", volume.path().filename().string(), y, x,
                                with_unit(volume.y(), y), with_unit(volume.x(), x));
  }
  check_replaceable(picture, command.overwrite);
  plot_pattern(pattern, options, picture);
}

void plot_patterns(const PlotCommand& command, const std::filesystem::path& picture) {
  constexpr const char* kCure = "leave it out: the file holds patterns or cakes";
  if (!command.images.empty()) refuse_option("`image`", "only files of images have named images", kCure);
  if (!command.voxel.empty()) refuse_option("`voxel`", "only tomograms of all bins have voxels", kCure);
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

CorrelationView view_from_name(const std::string& name) {
  if (name.empty() || name == "all") return CorrelationView::kAll;
  if (name == "on_ring") return CorrelationView::kOnRing;
  if (name == "at_zero") return CorrelationView::kAtZero;
  if (name == "legendre") return CorrelationView::kLegendre;
  throw Error(ErrorKind::kUsage, "`view`", fmt::format("{} is not known", in_quotes(name)),
              "all, on_ring, at_zero or legendre");
}

void plot_correlation_file(const PlotCommand& command, const std::filesystem::path& picture) {
  constexpr const char* kCure = "leave it out: the file holds a correlation";
  if (command.stack) refuse_option("`stack`", "a correlation has no frames to stack", kCure);
  if (!command.options.frames.empty()) refuse_option("`frame`", "a correlation has no frames", kCure);
  if (!command.images.empty()) refuse_option("`image`", "a correlation has a `view` instead", kCure);
  if (!command.voxel.empty()) refuse_option("`voxel`", "only tomograms of all bins have voxels", kCure);
  if (!command.beside.empty()) refuse_option("`beside`", "only images are drawn beside each other", kCure);
  const CorrelationView view = view_from_name(command.view);
  const StoredCorrelation correlation = read_correlation(command.input);
  check_replaceable(picture, command.overwrite);
  plot_correlation(correlation, view, command.absolute, command.options, picture);
}

int plot(const PlotCommand& command) {
  std::filesystem::path picture = command.picture;
  const DerivedFile kind = derived_file(command.input);
  if (picture.empty()) {
    std::string which = command.stack ? "_stack" : "";
    if (!command.voxel.empty()) which = "_voxel_" + command.voxel;
    if (!command.view.empty()) which = "_" + command.view;
    picture = std::filesystem::path(command.input).stem().string() + which + ".png";
  }
  if (kind != DerivedFile::kCorrelation) {
    constexpr const char* kCure = "leave it out: the file holds no correlation";
    if (!command.view.empty()) refuse_option("`view`", "only correlations have views", kCure);
    if (command.absolute) refuse_option("`absolute`", "only correlations are drawn as ratios", kCure);
  }
  if (kind == DerivedFile::kCorrelation) {
    plot_correlation_file(command, picture);
  } else if (kind == DerivedFile::kVolume && !command.voxel.empty()) {
    plot_voxel(command, picture);
  } else if (kind != DerivedFile::kNone) {
    plot_file_of_images(command, picture);
  } else {
    plot_patterns(command, picture);
  }
  if (!command.quiet) print("written: {}\n", on_one_line(picture.string()));
  return kSuccess;
}

}  // namespace

void add_plot(CommandLine& program) {
  Command command = program.add_command(
      "plot", "Draw patterns, cakes, the stack of a scan, images, tomograms or correlations, to PNG or SVG");
  const auto state = std::make_shared<PlotCommand>();
  command
      .add_positional("input", &state->input,
                      "NeXus file of patterns, cakes or images, a tomogram of all bins, or a correlation")
      .required();
  command.add("output", &state->picture, "Picture, .png or .svg (default: named after the input)", 'o');
  command.add("stack", &state->stack, "All frames as a map of frame number and radial axis");
  // Without the check a number below 0 would become one near 2^64.
  command.add("frame", &state->options.frames, "Frames to draw, from 0 (default: their mean)")
      .check([](const std::string& text) {
        return text.starts_with('-') ? fmt::format("frames are numbered from 0, {} is none", text) : "";
      });
  command.add("image", &state->images, "Images to draw, by name (default: all of the file)");
  command.add("beside", &state->beside,
              "File of images, or tomogram, to draw at the left of those of the input");
  command.add("voxel", &state->voxel, "Of a tomogram: draw the pattern of this voxel, Y,X, from 0");
  command.add(
      "view", &state->view,
      "Of a correlation: on_ring (C2 of each ring with itself over the angle), at_zero (of all pairs of "
      "rings, at angle 0), legendre (coefficients) or all (default)");
  command.add("absolute", &state->absolute,
              "Of a correlation: C2 as it is stored, not relative to each ring");
  add_scale(command, state->options.scale);
  command.add("radial_range", &state->options.radial_range,
              "Part of the axis to show; of a tomogram, that the image is the mean of");
  command.add("title", &state->options.title, "Title (default: the file and what is drawn; of images none)");
  command.add("width", &state->options.width, "Pixels (default: 1000; of images as the panels need)");
  command.add("height", &state->options.height, "Pixels (default: 640; of images as the panels need)");
  command.add("overwrite", &state->overwrite, "Replace the picture if it exists, whoever made it");
  command.add("quiet", &state->quiet, "Print nothing but errors", 'q');
  command.set_action([state] { return plot(*state); });
}

}  // namespace annulus::app
