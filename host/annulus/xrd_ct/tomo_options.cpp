#include <annulus/core/error.hpp>
#include <annulus/tomography/sirt.hpp>
#include <annulus/xrd_ct/tomo_options.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace annulus {
namespace {

void refuse_option(const std::string& option, const std::string& what, const std::string& cure) {
  throw Error(ErrorKind::kUsage, option, what, cure);
}

std::string_view name_of(Zigzag zigzag) {
  if (zigzag == Zigzag::kNone) return "none";
  return zigzag == Zigzag::kOddReversed ? "odd" : "even";
}

std::string range_text(const Range& range) { return fmt::format("{}:{}", range.low, range.high); }

std::string window_text(const Window& window) {
  const std::string peak = fmt::format("{}={}", window.name, range_text(window.range));
  if (!window.sides) return peak;
  return fmt::format("{},{},{}", peak, range_text(window.sides->first), range_text(window.sides->second));
}

}  // namespace

std::string_view name_of(Interpolation interpolation) {
  return interpolation == Interpolation::kLinear ? "linear" : "band-limited";
}

std::string_view name_of(AirUse use) { return use == AirUse::kSubtract ? "subtract" : "scale"; }

std::string_view name_of(TomoMethod method) { return method == TomoMethod::kFbp ? "fbp" : "sirt"; }

void check_options(const TomoOptions& options) {
  if (options.grid.slow.empty() != options.grid.fast.empty()) {
    refuse_option(options.grid.slow.empty() ? "`angle`" : "`translation`",
                  "a scan has a rotation and a translation, and only one of them is named",
                  "name the column of the other, or neither");
  }
  const bool columns = !options.grid.slow.empty();
  if (columns && options.grid.slow == options.grid.fast)
    refuse_option("`angle`, `translation`", fmt::format("both are column {}", options.grid.slow),
                  "name two columns");
  if (columns && options.angle_range)
    refuse_option("`angle_range`", "the column of `angle` says what the angles are", "leave one of them out");
  if (!columns && !options.angle_range) {
    refuse_option("`angle`, `translation`", "nothing says what the angles of the scan are",
                  "name its columns, or give `angle_range` for one that goes line after line, an angle each");
  }
  if (options.angle_range && !(std::isfinite(*options.angle_range) && *options.angle_range != 0)) {
    refuse_option("`angle_range`", fmt::format("{} degrees are no rotation", *options.angle_range),
                  "give the degrees that all lines cover");
  }
  for (const AxisRule* rule : {&options.grid.slow_rule, &options.grid.fast_rule}) {
    if (!columns && (rule->step || rule->tolerance)) {
      refuse_option("`shape`", "a scan without columns has no tolerances or steps", "leave one of them out");
    }
  }
  constexpr double kMostDegrees = 3600;
  if (options.angle_range && std::abs(*options.angle_range) > kMostDegrees) {
    refuse_option("`angle_range`", fmt::format("{} degrees are not sensible", *options.angle_range),
                  fmt::format("give degrees, from {} to {}", -kMostDegrees, kMostDegrees));
  }
  if (options.air == 0 && options.air_use)
    refuse_option("`air_use`", "nothing says which positions saw only air", "give their number with `air`");
  for (const auto& [option, given] :
       {std::pair("`stripe_width`", options.stripe_width.has_value()),
        std::pair("`stripe_threshold`", options.stripe_threshold.has_value())}) {
    if (given && !options.stripes) refuse_option(option, "stripes are not suppressed", "give `stripes` too");
  }
  if (options.stripe_width == 0)
    refuse_option("`stripe_width`", "0 positions are no stripe", "give 1 or more");
  if (options.stripe_threshold &&
      !(std::isfinite(*options.stripe_threshold) && *options.stripe_threshold >= 0)) {
    refuse_option("`stripe_threshold`",
                  fmt::format("{} is no number of standard deviations", *options.stripe_threshold),
                  "give 0 or more");
  }
  const auto refuse_with = [](TomoMethod method, const std::string& option) {
    refuse_option(option,
                  method == TomoMethod::kSirt ? "SIRT has none, only filtered back-projection"
                                              : "filtered back-projection has none, only SIRT",
                  "leave it out, or choose another `method`");
  };
  if (options.method == TomoMethod::kSirt) {
    if (options.filter) refuse_with(options.method, "`filter`");
    if (options.interpolation) refuse_with(options.method, "`interpolation`");
    if (options.way) refuse_with(options.method, "`way`");
  } else {
    if (options.iterations) refuse_with(options.method, "`iterations`");
    if (options.tolerance) refuse_with(options.method, "`tolerance`");
  }
  constexpr unsigned kMostThreads = 1024;
  if (options.threads > kMostThreads) {
    refuse_option("`threads`", fmt::format("{} are not sensible", options.threads),
                  fmt::format("give 1 to {}, or 0 for one per core", kMostThreads));
  }
  if (options.keep_sinogram && !options.windows.empty())
    refuse_option("`keep_sinogram`", "the sinograms of windows are always stored", "leave it out");
  constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 30U;
  if (options.memory == 0 || options.memory > kMostMemory)
    refuse_option("`memory`", fmt::format("{} MiB are not sensible", options.memory), "give 1 or more");
}

std::vector<std::pair<std::string, std::string>> as_text(const TomoOptions& options) {
  std::vector<std::pair<std::string, std::string>> texts;
  const auto add = [&](const char* key, auto value) { texts.emplace_back(key, fmt::format("{}", value)); };
  const auto add_if = [&](const char* key, const auto& value) {
    if (value) add(key, *value);
  };
  if (!options.grid.slow.empty()) {
    add("angle", options.grid.slow);
    add("translation", options.grid.fast);
    add_if("angle_tolerance", options.grid.slow_rule.tolerance);
    add_if("angle_step", options.grid.slow_rule.step);
    add_if("translation_tolerance", options.grid.fast_rule.tolerance);
    add_if("translation_step", options.grid.fast_rule.step);
  } else {
    if (options.grid.shape)
      add("shape", fmt::format("{},{}", options.grid.shape->rows, options.grid.shape->columns));
    add("zigzag", name_of(options.grid.zigzag));
    add_if("angle_range", options.angle_range);
  }
  add_if("centre", options.centre);
  add("air", options.air);
  add("air_use", name_of(options.air_use.value_or(AirUse::kSubtract)));
  add("stripes", options.stripes);
  if (options.stripes) {
    add("stripe_width", options.stripe_width.value_or(StripeOptions().width));
    add("stripe_threshold", options.stripe_threshold.value_or(StripeOptions().threshold));
  }
  add("method", name_of(options.method));
  if (options.method == TomoMethod::kFbp) {
    add("filter", name_of(options.filter.value_or(Filter::kRamp)));
    if (options.interpolation) add("interpolation", name_of(*options.interpolation));
    if (options.way) add("way", name_of(*options.way));
  } else {
    add("iterations", options.iterations.value_or(SirtOptions().iterations));
    add("tolerance", options.tolerance.value_or(SirtOptions().tolerance));
  }
  add("size", options.size);
  std::vector<std::string> windows;
  for (const Window& window : options.windows) windows.push_back(window_text(window));
  if (!windows.empty()) add("window", fmt::format("{}", fmt::join(windows, " ")));
  return texts;
}

nlohmann::ordered_json facts_of(const TomoReport& report) {
  nlohmann::ordered_json facts{{"frames", report.frames},
                               {"frames_without_cell", report.frames_without_cell},
                               {"angles", report.angles},
                               {"positions", report.positions},
                               {"left_out_projections", report.left_out},
                               {"filled_cells", report.filled_cells},
                               {"doubled_cells", report.doubled_cells},
                               {"filled_values", report.filled_values},
                               {"missing_cells", report.missing_cells},
                               {"missing_values", report.missing_values},
                               {"empty_bins", report.empty_bins},
                               {"translation_unit", report.unit},
                               {"step", report.step},
                               {"unevenness", report.unevenness},
                               {"resampled", report.resampled},
                               {"centre", report.centre},
                               {"centre_found", report.centre_uncertainty.has_value()}};
  if (report.centre_uncertainty) facts["centre_uncertainty"] = *report.centre_uncertainty;
  facts["stripes_suppressed"] = report.stripes;
  facts["method"] = report.method;
  if (!report.filter.empty()) {
    facts["way"] = report.way;
    facts["filter"] = report.filter;
    facts["interpolation"] = report.interpolation;
  }
  facts["size"] = report.size;
  if (report.iterations) facts["iterations"] = *report.iterations;
  if (report.misfit) facts["misfit"] = *report.misfit;
  facts["warnings"] = report.warnings;
  return facts;
}

}  // namespace annulus
