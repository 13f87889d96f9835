#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/outputs/image_file.hpp>
#include <annulus/outputs/iso_time.hpp>
#include <annulus/tomography/sirt.hpp>
#include <annulus/version.hpp>
#include <annulus/xrd_ct/tomo.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tools/plot/plot.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "exit_code.hpp"
#include "grid_options.hpp"
#include "interrupt.hpp"
#include "json_text.hpp"
#include "option_names.hpp"
#include "picture_output.hpp"
#include "print.hpp"
#include "progress.hpp"

namespace annulus::app {
namespace {

struct TomoCommand {
  TomoOptions options;
  GridArguments grid;
  std::vector<std::string> windows;
  std::filesystem::path window_table;
  std::filesystem::path picture;
  bool opencl = false;
  std::string device;  // empty: not given
  std::optional<std::uint32_t> device_memory;
  bool follow = false;
  double follow_timeout = 60;
  bool json = false;
  bool quiet = false;
};

nlohmann::ordered_json json_of(const TomoReport& report) {
  nlohmann::ordered_json json = facts_of(report);
  json["channels"] = report.channels;
  json["blocks"] = report.blocks;
  json["seconds"] = {{"reading", report.seconds.reading},
                     {"cleaning", report.seconds.cleaning},
                     {"reconstructing", report.seconds.reconstructing},
                     {"writing", report.seconds.writing}};
  return json;
}

void print_warnings(const TomoReport& report) {
  for (const std::string& warning : report.warnings)
    print_error("annulus: warning: {}\n", on_one_line(in_our_words(warning)));
}

std::string with_unit(double value, const std::string& unit) {
  return fmt::format("{:.6g}{}{}", value, unit.empty() ? "" : " ", unit);
}

// What was done, in a few lines.
void print_summary(const TomoReport& report, const char* channels) {
  print("{} angles x {} positions of {}, {} {}\n", report.angles, report.positions,
        on_one_line(with_unit(report.step, report.unit)), report.channels, channels);
  if (report.centre_uncertainty) {
    print("axis of rotation found at {}, +- {:.2g}\n", on_one_line(with_unit(report.centre, report.unit)),
          *report.centre_uncertainty);
  }
  if (report.resampled)
    print("positions are off even ones by up to {:.2f} steps: resampled\n", report.unevenness);
  if (report.frames_without_cell > 0)
    print("{} frames left out: bad or without a position\n", report.frames_without_cell);
  if (report.filled_cells > 0) print("{} cells without a frame were filled\n", report.filled_cells);
  if (report.missing_cells > 0) print("{} cells without a frame take no part\n", report.missing_cells);
  if (report.doubled_cells > 0) print("{} cells have several frames\n", report.doubled_cells);
  if (report.filled_values > 0) print("{} values of single bins were filled\n", report.filled_values);
  if (!report.empty_bins.empty())
    print("{} of the {} have no value and are 0\n", report.empty_bins.size(), channels);
  if (report.stripes > 0) print("{} stripes were suppressed\n", report.stripes);
  if (report.method == "sirt") {
    print("SIRT, up to {} iterations, misfit {:.3g}: {} x {} voxels\n", *report.iterations, *report.misfit,
          report.size, report.size);
  } else {
    print("filtered back-projection ({}, {}, {}): {} x {} voxels\n", report.filter, report.interpolation,
          report.way, report.size, report.size);
  }
}

void report_result(const TomoCommand& command, const TomoReport& report) {
  print_warnings(report);
  const std::string output = command.options.output.string();
  if (command.json) {
    nlohmann::ordered_json json = json_of(report);
    json["output"] = output;
    if (!command.picture.empty()) json["picture"] = command.picture.string();
    print("{}\n", as_text(json));
  } else if (!command.quiet) {
    print_summary(report, command.options.windows.empty() ? "bins" : "windows");
    print("written: {}\n", on_one_line(output));
    if (!command.picture.empty()) print("drawn: {}\n", on_one_line(command.picture.string()));
  }
}

void check_picture(const TomoCommand& command) {
  if (command.picture.empty()) return;
  if (command.options.windows.empty()) {
    throw Error(ErrorKind::kUsage, "`picture`", "a volume of all bins is no picture",
                "choose windows with `window`");
  }
  check_picture_beside(command.picture, command.options.output, command.options.overwrite);
}

// Where to compute.
void take_backend(TomoCommand& command) {
  TomoOptions& options = command.options;
  const auto refuse = [](const char* option, const char* what, const char* cure) {
    throw Error(ErrorKind::kUsage, option, what, cure);
  };
  if (command.opencl) {
    if (options.method == TomoMethod::kSirt)
      refuse("`backend`", "SIRT computes on the CPU only", "leave it out, or choose `method` fbp");
    if (options.way) refuse("`way`", "on OpenCL devices there is only the direct way", "leave it out");
    options.way = FbpWay::kOpenCl;
    if (!command.device.empty()) options.device = command.device;
    options.device_memory = command.device_memory.value_or(0);
    return;
  }
  constexpr const char* kNoDevice = "it means nothing to the CPU";
  constexpr const char* kTakeOpenCl = "leave it out, or give `backend` opencl";
  if (!command.device.empty()) refuse("`device`", kNoDevice, kTakeOpenCl);
  if (command.device_memory) refuse("`device_memory`", kNoDevice, kTakeOpenCl);
}

// Images of windows, again and again if the scan goes on.
class WindowWriter {
 public:
  explicit WindowWriter(const TomoCommand& command)
      : command_(command), overwrite_(command.options.overwrite) {}

  // Returns the seconds it took.
  double write(const WindowTomograms& tomograms, const PatternFile& file) {
    const auto start = Clock::now();
    const TomoOptions& options = command_.options;
    ImageFileInfo info;
    info.version = kVersion;
    info.date = iso_time();
    info.title = "tomograms of " + options.input.filename().string();
    info.kind = "tomogram";
    info.facts = {{"input", options.input.string()}, {"plan_hash", file.header().plan_hash}};
    for (const auto& [key, text] : as_text(options)) info.facts.emplace_back("option_" + key, text);
    const nlohmann::ordered_json facts = facts_of(tomograms.report);
    for (const auto& [key, fact] : facts.items()) {
      if (fact.is_number()) {
        info.facts.emplace_back(key, fact.get<double>());
      } else {
        info.facts.emplace_back(key, fact.is_string() ? fact.get<std::string>() : as_line(fact));
      }
    }
    write_images(info, tomograms.images, options.output, overwrite_);
    if (!command_.picture.empty()) draw(tomograms);
    overwrite_ = true;  // this one was written by us
    return seconds_since(start);
  }

 private:
  // A row per window: its sinogram, then its tomogram.
  void draw(const WindowTomograms& tomograms) const {
    check_replaceable(command_.picture, overwrite_, "`picture`");
    std::vector<std::vector<GridImage>> rows;
    for (std::size_t i = 0; i < tomograms.images.size(); i += 2)
      rows.push_back({tomograms.images[i], tomograms.images[i + 1]});
    plot_images(rows, {}, command_.picture);
  }

  static std::string as_line(const nlohmann::ordered_json& fact) {
    return fact.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  const TomoCommand& command_;
  bool overwrite_;
};

TomoReport make_windows(const TomoCommand& command, std::stop_token stop, Progress& progress) {
  WindowWriter writer(command);
  const PatternFile file(command.options.input);
  WindowTomograms tomograms = reconstruct_windows(
      file, command.options, true, std::move(stop),
      [&](std::uint64_t done, std::uint64_t expected) { progress.update(done, 0, expected); });
  progress.finish();
  tomograms.report.seconds.writing = writer.write(tomograms, file);
  return tomograms.report;
}

TomoReport follow_scan(const TomoCommand& command, std::stop_token stop) {
  const bool silent = command.quiet || command.json;
  WindowWriter writer(command);
  TomoReport last;
  FollowActions actions;
  actions.take = [&](const WindowTomograms& tomograms, const PatternFile& file, bool complete) {
    const double seconds = writer.write(tomograms, file);
    last = tomograms.report;
    last.seconds.writing = seconds;
    if (silent || complete) return;
    const std::vector<double>& angles = tomograms.images.front().rows.positions;
    print_error("tomogram of {} angles, {:g} to {:g} degrees, from {} frames\n", angles.size(),
                angles.front(), angles.back(), file.frames());
  };
  actions.wait = [&](std::uint64_t frames, const std::string& reason) {
    if (!silent) print_error("waiting, {} frames so far: {}\n", frames, on_one_line(in_our_words(reason)));
  };
  FollowedOutput output(command.options.input, std::chrono::duration<double>(command.follow_timeout));
  follow_windows(output, command.options, actions, std::move(stop));
  return last;
}

int make_tomograms(TomoCommand& command) {
  TomoOptions& options = command.options;
  options.grid = command.grid.grid();
  options.windows = all_windows(command.windows, command.window_table);
  take_backend(command);
  if (command.follow && options.windows.empty()) {
    throw Error(ErrorKind::kUsage, "`follow`", "a tomogram of all bins is made when the scan is complete",
                "choose windows with `window`, or leave it out");
  }
  check_picture(command);
  if (!options.windows.empty()) {
    constexpr std::string_view kLongestKind = "_sinogram";  // as long as _tomogram
    std::size_t longest = 0;
    for (const Window& window : options.windows) longest = std::max(longest, window.name.size());
    check_number_of_images(2 * options.windows.size(), longest + kLongestKind.size());
    check_image_place(options.output, options.overwrite);
  }
  const std::stop_token stop = catch_interrupts();
  if (command.follow) {
    report_result(command, follow_scan(command, stop));
    return kSuccess;
  }
  Progress progress("reading", command.quiet || command.json);
  const TomoReport report = options.windows.empty()
                                ? reconstruct_bins(options, stop,
                                                   [&](std::uint64_t done, std::uint64_t expected) {
                                                     progress.update(done, 0, expected);
                                                   })
                                : make_windows(command, stop, progress);
  progress.finish();
  report_result(command, report);
  return kSuccess;
}

// One of a few words.
template <typename Choice>
void add_choice(Command& command, const std::string& key,
                const std::vector<std::pair<std::string, Choice>>& choices,
                const std::function<void(Choice)>& take, const std::string& help, const std::string& shown) {
  command.add_text(
      key,
      [=](const std::string& word) {
        std::string names;
        for (const auto& [name, choice] : choices) {
          if (name == word) return take(choice);
          names += (names.empty() ? "" : ", ") + name;
        }
        throw Error(ErrorKind::kUsage, "`" + key + "`", in_quotes(word) + " is not known",
                    "choose of " + names);
      },
      help, shown);
}

void add_method(Command& command, TomoOptions& options) {
  add_choice<TomoMethod>(
      command, "method", {{"fbp", TomoMethod::kFbp}, {"sirt", TomoMethod::kSirt}},
      [&options](TomoMethod method) { options.method = method; },
      "fbp (filtered back-projection) or sirt (iterations, for few angles)", "fbp");
  std::vector<std::pair<std::string, Filter>> filters;
  for (const Filter filter :
       {Filter::kRamp, Filter::kSheppLogan, Filter::kCosine, Filter::kHann, Filter::kNone})
    filters.emplace_back(name_of(filter), filter);
  add_choice<Filter>(
      command, "filter", filters, [&options](Filter filter) { options.filter = filter; },
      "ramp, shepp-logan, cosine, hann or none", "ramp");
  add_choice<Interpolation>(
      command, "interpolation",
      {{"linear", Interpolation::kLinear}, {"band-limited", Interpolation::kBandLimited}},
      [&options](Interpolation interpolation) { options.interpolation = interpolation; },
      fmt::format("Between positions: linear or band-limited (default: linear below {} positions)",
                  kBandLimitedFrom),
      "");
  add_choice<FbpWay>(
      command, "way", {{"direct", FbpWay::kDirect}, {"fourier", FbpWay::kFourier}},
      [&options](FbpWay way) { options.way = way; },
      "direct, or fourier with band-limited interpolation (default: direct for linear interpolation)", "");
  command.add("size", &options.size, "Voxels along each side (default: as many as there are positions)");
  command.add("iterations", &options.iterations,
              fmt::format("Of sirt, at most (default: {})", SirtOptions().iterations));
  command.add("tolerance", &options.tolerance,
              "A bin is done when an iteration of sirt lessens its misfit by less than this part "
              "(default: 1e-4)");
}

void add_clean_up(Command& command, TomoOptions& options) {
  command.add("centre", &options.centre,
              "Where the beam meets the axis of rotation, in the unit of the translation (default: found)");
  command.add("air", &options.air, "So many positions at either end saw only air");
  add_choice<AirUse>(
      command, "air_use", {{"subtract", AirUse::kSubtract}, {"scale", AirUse::kScale}},
      [&options](AirUse use) { options.air_use = use; },
      "With --air: subtract a line between both ends, or scale each projection by its air", "subtract");
  command.add("stripes", &options.stripes, "Suppress stripes of the sinogram, which make rings");
  command.add("stripe_width", &options.stripe_width,
              fmt::format("With --stripes: positions that a stripe has at most (default: {})",
                          StripeOptions().width));
  command.add(
      "stripe_threshold", &options.stripe_threshold,
      fmt::format("With --stripes: standard deviations of the roughness that make a stripe (default: {})",
                  StripeOptions().threshold));
}

}  // namespace

void add_tomo(CommandLine& program) {
  Command command = program.add_command("tomo", "Make tomograms of an XRD-CT scan, a pattern in every voxel");
  const auto state = std::make_shared<TomoCommand>();
  TomoOptions& options = state->options;
  command.add_positional("input", &options.input, "NeXus file that 'annulus integrate' wrote").required();
  command.add("output", &options.output, "NeXus file to write", 'o').required();
  add_grid_options(command, state->grid, "angle", "Column of the rotation, in degrees or radians",
                   "translation", "Column of the translation");
  command.add("angle_range", &options.angle_range,
              "Degrees that all lines cover, an angle each, of a scan without columns");
  command
      .add(
          "window", &state->windows,
          "Only this part of the patterns: [NAME=]FROM:TO, in their unit; with a background "
          "[NAME=]FROM:TO,LEFT_FROM:LEFT_TO,RIGHT_FROM:RIGHT_TO. Give it once per window (default: all bins)")
      .one_at_a_time();
  command.add("windows", &state->window_table,
              "Table of windows: name,from,to and for backgrounds left_from,left_to,right_from,right_to");
  command.add("picture", &state->picture, "Of windows: also draw sinograms and tomograms, as PNG or SVG");
  const Option follow =
      command.add("follow", &state->follow, "Of windows: update the output while the input is written");
  command
      .add("follow_timeout", &state->follow_timeout,
           "Seconds without news after which a scan counts as complete")
      .needs(follow);
  add_clean_up(command, options);
  add_method(command, options);
  add_choice<bool>(
      command, "backend", {{"cpu", false}, {"opencl", true}},
      [state](bool opencl) { state->opencl = opencl; }, "Where to compute: cpu or opencl", "cpu");
  command.add("device", &state->device,
              "With opencl: 0, 0:1, a part of a name, all, or several with commas ('annulus devices') "
              "(default: 0)");
  command.add("device_memory", &state->device_memory,
              "With opencl: MiB of each device to use; 0: all (default: 0)");
  command.add("keep_sinogram", &options.keep_sinogram, "Store the sinogram of all bins as well");
  command.add("threads", &options.threads, "0: one per core");
  command.add("memory", &options.memory, "MiB for sinogram and tomogram; bins that do not fit wait");
  command.add("overwrite", &options.overwrite, "Replace the output if it exists");
  command.add("json", &state->json, "Print JSON");
  command.add("quiet", &state->quiet, "Print nothing but errors", 'q');
  command.set_action([state] { return make_tomograms(*state); });
}

}  // namespace annulus::app
