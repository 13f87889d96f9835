#include <annulus/core/error.hpp>
#include <annulus/correlation/polar_image.hpp>
#include <annulus/engine/correlate_config.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace annulus {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t kRings = 300, kAngles = 256;

// What they would do to patterns means nothing here, or would not leave a full turn.
constexpr std::array<std::string_view, 7> kNotHere = {"error_model", "azimuth_range", "format",  "profile",
                                                      "save_matrix", "spottiness",    "outliers"};

// Those of polar images: how files are read, where rings lie, what is written.
constexpr std::array<std::string_view, 17> kOfPolarImages = {
    "inputs",  "follow",       "follow_timeout", "raw_shape",  "raw_type",  "raw_offset",
    "unit",    "radial_range", "allow_links",    "output",     "overwrite", "append",
    "threads", "readers",      "memory",         "keep_going", "part"};

template <std::size_t N>
bool contains(std::string_view key, const std::array<std::string_view, N>& keys) {
  return std::ranges::find(keys, key) != keys.end();
}

[[noreturn]] void refuse_option(const std::string& key, const std::string& what, const std::string& cure) {
  throw Error(ErrorKind::kUsage, "`" + key + "`", what, cure);
}

// Options that were set and are not for this.
template <typename Allowed>
void refuse_others(const CorrelateConfig& config, const Allowed& allowed, const char* what) {
  const Json unset = to_json(CorrelateConfig().reduction), set = to_json(config.reduction);
  for (const auto& [key, value] : set.items()) {
    if (value != unset.at(key) && !allowed(key)) refuse_option(key, what, "leave it out");
  }
}

void check_coefficients(const CorrelateConfig& config) {
  if (!config.legendre) {
    if (config.flat_ewald)
      refuse_option("flat_ewald", "it means nothing without `legendre`", "give `legendre`, or leave it out");
    if (config.wavelength)
      refuse_option("wavelength", "it means nothing without `legendre`", "give `legendre`, or leave it out");
    return;
  }
  if (config.flat_ewald && config.wavelength)
    refuse_option("flat_ewald", "a flat Ewald sphere has no wavelength", "give one of them");
  if (config.wavelength && !config.polar)
    refuse_option("wavelength", "that of frames is in their PONI file", "leave it out, or give `flat_ewald`");
  if (config.wavelength && !(*config.wavelength > 0 && std::isfinite(*config.wavelength)))
    refuse_option("wavelength", fmt::format("{} is no wavelength", *config.wavelength),
                  "give it in angstrom");
  if (config.polar && !config.flat_ewald && !config.wavelength)
    refuse_option("legendre", "nobody says how curved the Ewald sphere of polar images is",
                  "give `wavelength`, with `radial_range` in a unit of q, or `flat_ewald`");
}

}  // namespace

CorrelateConfig::CorrelateConfig() {
  reduction.integration.bins = kRings;
  reduction.integration.azimuth_bins = kAngles;
  reduction.integration.unit = Unit::kQPerA;
}

bool is_of_correlation(const OptionInfo& info) { return !contains(info.key, kNotHere); }

Json to_json(const CorrelateConfig& config) {
  Json json = to_json(config.reduction);
  for (const std::string_view key : kNotHere) json.erase(std::string(key));
  for_each_own_option(config, [&](const OptionInfo& info, const auto& value) {
    if constexpr (requires { value.has_value(); }) {
      json[info.key] = value ? Json(*value) : Json(nullptr);
    } else {
      json[info.key] = value;
    }
  });
  return json;
}

std::vector<std::pair<std::string, std::string>> as_text(const CorrelateConfig& config) {
  std::vector<std::pair<std::string, std::string>> options;
  const Json json = to_json(config);
  for (const auto& [key, value] : json.items()) {
    // The inputs are in the output snapshot by snapshot.
    if (key != "inputs")
      options.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return options;
}

IntegrateConfig checked_reduction(const CorrelateConfig& config) {
  IntegrateConfig reduction = config.reduction;
  refuse_others(
      config, [](const std::string& key) { return !contains(key, kNotHere); },
      "it means nothing to a correlation");
  if (config.polar) {
    refuse_others(
        config, [](const std::string& key) { return contains(key, kOfPolarImages); },
        "it means nothing to polar images, which need no plan");
    if (!reduction.integration.radial_range && reduction.integration.unit != Unit::kQPerA)
      refuse_option("unit", "it is that of `radial_range`, which is not given",
                    "give `radial_range`, or leave it out");
  }
  if (!reduction.integration.azimuth_bins)
    refuse_option("npt_azim", "a correlation needs azimuths", "give their number, for example 256");
  if (reduction.monitor.empty() && !reduction.columns.empty())
    refuse_option("column", "a correlation keeps no columns", "name it with `monitor`, or leave it out");
  if (!(config.checkpoint >= 0 && config.checkpoint <= 1e6))
    refuse_option("checkpoint", fmt::format("{} s is not sensible", config.checkpoint),
                  "give a number of seconds, or 0 to write at the end only");
  if (config.fast && reduction.append)
    refuse_option("fast", "nothing can be added exactly to a preview",
                  "leave out one of `fast` and `append`");
  if (config.scale && (*config.scale < kLeastScale || *config.scale > kMostScale))
    refuse_option("scale", fmt::format("{} is not between {} and {}", *config.scale, kLeastScale, kMostScale),
                  "it is the power of two that values are multiplied by");
  check_coefficients(config);
  if (!is_nexus_name(reduction.output))
    refuse_option("output", fmt::format("{} is no name of a NeXus file", reduction.output),
                  "choose one, for example with .nxs");
  // The ends of the azimuths are those of a turn, not those of the detector.
  const bool from_zero = reduction.integration.chi_discontinuity == 0;
  reduction.integration.azimuth_range = from_zero ? Range{0, 360} : Range{-180, 180};
  check(reduction);
  return reduction;
}

}  // namespace annulus
