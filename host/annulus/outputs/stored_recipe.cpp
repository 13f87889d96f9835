#include <annulus/outputs/hdf5_fields.hpp>
#include <annulus/outputs/nexus_layout.hpp>
#include <annulus/outputs/stored_recipe.hpp>

#include <fmt/core.h>

#include <array>
#include <cmath>

namespace annulus {
namespace {

constexpr const char* kErrorModel = "error_model";
constexpr const char* kClip = "clip";
constexpr const char* kThreshold = "clip_threshold";
constexpr const char* kCycles = "clip_cycles";
constexpr const char* kLowQuantile = "clip_quantile_low";
constexpr const char* kHighQuantile = "clip_quantile_high";
constexpr const char* kSpottiness = "spottiness";

constexpr std::array kErrorModels = {ErrorModel::kNone, ErrorModel::kPoisson, ErrorModel::kAzimuthal,
                                     ErrorModel::kHybrid};
constexpr std::array kClipMethods = {ClipMethod::kNone, ClipMethod::kSigma, ClipMethod::kMedian,
                                     ClipMethod::kQuantiles};

template <typename Values, typename Value>
bool find_name(const Values& values, const std::string& name, Value& found) {
  for (const Value value : values) {
    if (name_of(value) != name) continue;
    found = value;
    return true;
  }
  return false;
}

std::string text_of(hid_t file, const char* name) {
  return read_text_attribute(file, layout::kAccumulators, name, TextLength::kFixed).value_or("no");
}

double number_of(hid_t file, const char* name) {
  return read_number_attribute(file, layout::kAccumulators, name).value_or(std::nan(""));
}

bool makes_sense(const Recipe& recipe) {
  try {
    check(recipe);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

void write_recipe(hid_t accumulators, const Recipe& recipe) {
  const Clip& clip = recipe.clip;
  write_attribute(accumulators, kErrorModel, FixedText{name_of(recipe.error_model)});
  write_attribute(accumulators, kClip, FixedText{name_of(clip.method)});
  if (clip.by_sigma()) {
    write_attribute(accumulators, kThreshold, clip.threshold);
    write_attribute(accumulators, kCycles, static_cast<std::int32_t>(clip.cycles));
  }
  if (clip.quantiles) {
    write_attribute(accumulators, kLowQuantile, clip.quantiles->low);
    write_attribute(accumulators, kHighQuantile, clip.quantiles->high);
  }
  write_attribute(accumulators, kSpottiness, std::int32_t{recipe.spottiness ? 1 : 0});
}

std::optional<Recipe> read_recipe(hid_t file) {
  Recipe recipe;
  if (!read_text_attribute(file, layout::kAccumulators, kErrorModel)) {
    const bool errors = has_object(file, layout::sums_of(Quantity::kVariance));
    if (errors) recipe.error_model = ErrorModel::kPoisson;
    return recipe;
  }
  if (!find_name(kErrorModels, text_of(file, kErrorModel), recipe.error_model) ||
      !find_name(kClipMethods, text_of(file, kClip), recipe.clip.method)) {
    return std::nullopt;
  }
  if (recipe.clip.by_sigma()) {
    const double cycles = number_of(file, kCycles);
    if (!(cycles >= 0 && cycles < 0x1p31)) return std::nullopt;
    recipe.clip.cycles = static_cast<unsigned>(cycles);
    recipe.clip.threshold = number_of(file, kThreshold);
  }
  if (recipe.clip.method == ClipMethod::kQuantiles)
    recipe.clip.quantiles = Range{number_of(file, kLowQuantile), number_of(file, kHighQuantile)};
  recipe.spottiness = number_of(file, kSpottiness) == 1;
  if (!makes_sense(recipe)) return std::nullopt;
  return recipe;
}

std::string in_words(const Recipe& recipe) {
  const Clip& clip = recipe.clip;
  std::string text = fmt::format("{} errors", name_of(recipe.error_model));
  if (recipe.has_clip()) text += fmt::format(", clip {}", name_of(clip.method));
  if (clip.by_sigma()) text += fmt::format(" (threshold {}, {} cycles)", clip.threshold, clip.cycles);
  if (clip.quantiles) text += fmt::format(" ({} to {})", clip.quantiles->low, clip.quantiles->high);
  if (recipe.spottiness) text += ", spottiness";
  return text;
}

}  // namespace annulus
