#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/maps/map.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/outputs/iso_time.hpp>
#include <annulus/ranks/together.hpp>
#include <annulus/version.hpp>

#include <nlohmann/json.hpp>
#include <tools/plot/image_rows.hpp>
#include <tools/plot/plot.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comma_list.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "grid_options.hpp"
#include "input_remarks.hpp"
#include "interrupt.hpp"
#include "json_text.hpp"
#include "picture_output.hpp"
#include "print.hpp"
#include "progress.hpp"
#include "shared_work.hpp"

namespace annulus::app {
namespace {

struct MapCommand {
  std::filesystem::path input;
  std::filesystem::path output;
  GridArguments grid;
  std::vector<std::string> windows;
  std::filesystem::path window_table;
  std::vector<std::string> values = {"intensity"};
  std::filesystem::path picture;
  PlotOptions plot;
  bool follow = false;
  double follow_timeout = 60;
  bool overwrite = false;
  bool json = false;
  bool quiet = false;
};

MapOptions options_of(const MapCommand& command) {
  MapOptions options;
  options.grid = command.grid.grid();
  options.windows = all_windows(command.windows, command.window_table);
  options.values.clear();
  for (const std::string& name : command.values) {
    const auto value = map_value_from_name(name);
    if (!value)
      throw Error(ErrorKind::kUsage, "`values`", in_quotes(name) + " is nothing that a map shows",
                  "choose of intensity, error, centre, width, maximum and place");
    if (std::ranges::find(options.values, *value) != options.values.end())
      throw Error(ErrorKind::kUsage, "`values`", name + " is given twice", "give it once");
    options.values.push_back(*value);
  }
  return options;
}

std::string text_of(Range range) { return fmt::format("{}:{}", range.low, range.high); }

std::string text_of(const Window& window) {
  std::string text = fmt::format("{}={}", window.name, text_of(window.range));
  if (window.sides)
    text += fmt::format(",{},{}", text_of(window.sides->first), text_of(window.sides->second));
  return text;
}

// Writes and draws maps, one after the other.
class MapWriter {
 public:
  MapWriter(const MapCommand& command, const MapOptions& options)
      : command_(command), options_(options), overwrite_(command.overwrite) {}

  void write(const ScanMap& map, const PatternFile& file) {
    ImageFileInfo info;
    info.version = kVersion;
    info.date = iso_time();
    info.title = "map of " + command_.input.filename().string();
    info.kind = "map";
    info.facts = {{"input", command_.input.string()},
                  {"plan_hash", file.header().plan_hash},
                  {"frames", static_cast<double>(map.frames)},
                  {"frames_left_out", static_cast<double>(map.left_out)},
                  {"empty_cells", static_cast<double>(map.empty_cells)},
                  {"crowded_cells", static_cast<double>(map.crowded_cells)}};
    for (const Window& window : options_.windows)
      info.facts.emplace_back("window_" + window.name, text_of(window));
    write_images(info, map.images, command_.output, overwrite_);
    overwrite_ = true;  // this one was written by us
    if (!command_.picture.empty()) {
      std::vector<GridImage> drawn = map.images;
      std::erase_if(drawn, [](const GridImage& image) { return image.name == kFramesImage; });
      plot_images(rows_of_images(std::move(drawn)), command_.plot, command_.picture);
    }
  }

 private:
  const MapCommand& command_;
  const MapOptions& options_;
  bool overwrite_;
};

void report(const MapCommand& command, const ScanMap& map) {
  const std::string output = command.output.string();
  if (command.json) {
    nlohmann::ordered_json json{{"rows", map.rows},
                                {"columns", map.columns},
                                {"frames", map.frames},
                                {"frames_left_out", map.left_out},
                                {"empty_cells", map.empty_cells},
                                {"crowded_cells", map.crowded_cells}};
    for (const GridImage& image : map.images) json["images"].push_back(image.name);
    json["output"] = output;
    if (!command.picture.empty()) json["picture"] = command.picture.string();
    print("{}\n", as_text(json));
  } else if (!command.quiet) {
    print("map of {} x {} cells from {}", map.rows, map.columns, frame_count(map.frames));
    if (map.left_out > 0) print(", {} left out", map.left_out);
    if (map.empty_cells > 0) print(", {} cells empty", map.empty_cells);
    if (map.crowded_cells > 0) print(", {} cells of several frames", map.crowded_cells);
    print("\nwritten: {}\n", on_one_line(output));
    if (!command.picture.empty()) print("drawn: {}\n", on_one_line(command.picture.string()));
  }
}

// All before the patterns are read.
void check(const MapCommand& command, const MapOptions& options) {
  std::size_t longest = std::string_view(kFramesImage).size();
  for (const Window& window : options.windows) {
    for (const MapValue value : options.values)
      longest = std::max(longest, window.name.size() + 1 + name_of(value).size());
  }
  check_number_of_images(options.windows.size() * options.values.size() + 1, longest);
  if (!command.picture.empty()) check_picture_beside(command.picture, command.output, command.overwrite);
  check_image_place(command.output, command.overwrite);
}

int follow_and_map(const MapCommand& command) {
  const MapOptions options = options_of(command);
  check(command, options);
  MapWriter writer(command, options);
  FollowedOutput output(command.input, std::chrono::duration<double>(command.follow_timeout));
  Progress progress("mapped", command.quiet || command.json);
  follow_map(
      output, options,
      [&](const ScanMap& map, const PatternFile& file, bool complete) {
        writer.write(map, file);
        progress.update(map.frames, 0, 0);
        if (!complete) return;
        progress.finish();
        report(command, map);
        if (!file.is_closed()) warn_unclosed(command.input);
      },
      catch_interrupts());
  return kSuccess;
}

int make_maps(const MapCommand& command) {
  if (command.follow) {
    refuse_ranks("map --follow");
    return follow_and_map(command);
  }
  MapOptions options;
  std::optional<PatternFile> file;
  std::optional<Progress> progress;
  ScanMap map;
  return share_work(
      [&](Ranks& ranks) {
        const std::stop_token stop = catch_interrupts();
        together(ranks, [&] {
          options = options_of(command);
          check(command, options);
          file.emplace(command.input);
        });
        progress.emplace("mapping", command.quiet || command.json || !ranks.is_first());
        map = make_map(*file, options, ranks, stop,
                       [&](std::uint64_t done) { progress->update(done, 0, file->frames()); });
      },
      [&] {
        progress->finish();
        MapWriter(command, options).write(map, *file);
        report(command, map);
        if (!file->is_closed()) warn_unclosed(command.input);
        return kSuccess;
      });
}

}  // namespace

void add_map(CommandLine& program) {
  Command command = program.add_command("map", "Make maps of windows of the patterns over two motors");
  const auto state = std::make_shared<MapCommand>();
  command.add_positional("input", &state->input, "NeXus file that 'annulus integrate' wrote").required();
  command.add("output", &state->output, "NeXus file to write", 'o').required();
  command
      .add("window", &state->windows,
           "Part of the pattern that an image shows: [NAME=]FROM:TO, in the unit of the patterns; with a "
           "background [NAME=]FROM:TO,LEFT_FROM:LEFT_TO,RIGHT_FROM:RIGHT_TO. Give it once per window "
           "(default: the whole pattern)")
      .one_at_a_time();
  command.add("windows", &state->window_table,
              "Table of windows: name,from,to and for backgrounds left_from,left_to,right_from,right_to");
  add_comma_list(command, "values", state->values,
                 "What to show of a window: intensity, error, centre (of mass), width, maximum, place");
  const Option picture = command.add("picture", &state->picture, "Also draw the maps, as PNG or SVG");
  add_scale(command, state->plot.scale).needs(picture);
  add_grid_options(command, state->grid, "y", "Column of the motor of the rows", "x",
                   "Column of the motor of the columns");
  const Option follow = command.add("follow", &state->follow, "Update the map while the input is written");
  command
      .add("follow_timeout", &state->follow_timeout,
           "Seconds without news after which a scan counts as complete")
      .needs(follow);
  command.add("overwrite", &state->overwrite, "Replace the output if it exists");
  command.add("json", &state->json, "Print JSON");
  command.add("quiet", &state->quiet, "Print nothing but errors", 'q');
  command.set_shared_action([state] { return make_maps(*state); });
}

}  // namespace annulus::app
