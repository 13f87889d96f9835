#include <annulus/core/error.hpp>
#include <annulus/plan/validity.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace annulus {
namespace {

struct TypeLimits {
  long double lowest = 0;
  long double highest = 0;
  bool is_unsigned = false;
};

TypeLimits limits_of(PixelType type) {
  return visit_pixel_type(type, [](auto zero) {
    using Pixel = decltype(zero);
    return TypeLimits{static_cast<long double>(std::numeric_limits<Pixel>::lowest()),
                      static_cast<long double>(std::numeric_limits<Pixel>::max()), std::is_unsigned_v<Pixel>};
  });
}

// What pixels hold that mean this value: 0.1 is not a float32, and no double is the largest 64-bit integer.
long double as_pixels_hold_it(double value, PixelType type) {
  const TypeLimits limits = limits_of(type);
  // What is printed of the largest float32 is a little beyond it.
  if (const auto nearest = static_cast<float>(value); type == PixelType::kF32 && std::isfinite(nearest))
    return nearest;
  if (!is_float(type) && value == static_cast<double>(limits.highest)) return limits.highest;
  return value;
}

}  // namespace

std::optional<std::int64_t> saturation_of(const IntegrationOptions& options,
                                          std::optional<std::int64_t> of_the_file) {
  if (options.max_count) return options.max_count;
  return of_the_file && *of_the_file > 0 ? of_the_file : std::nullopt;
}

bool needs_quantising(PixelType type) {
  return is_float(type) || type == PixelType::kI64 || type == PixelType::kU64;
}

std::optional<Dummy> effective_dummy(const IntegrationOptions& options, const Detector& detector,
                                     PixelType type) {
  if (options.delta_dummy && (!std::isfinite(*options.delta_dummy) || *options.delta_dummy < 0)) {
    throw Error(ErrorKind::kUsage, "`delta_dummy`", fmt::format("{} is not a distance", *options.delta_dummy),
                "give a number >= 0");
  }
  if (options.delta_dummy && !options.dummy && !detector.dectris) {
    throw Error(ErrorKind::kUsage, "`delta_dummy`", "there is no dummy value that it could widen",
                "give `dummy` too");
  }
  if (options.dummy) {
    if (!std::isfinite(*options.dummy)) {
      if (is_float(type)) return std::nullopt;  // NaN and infinities are invalid anyway
      throw Error(ErrorKind::kUsage, "`dummy`",
                  fmt::format("{} is no value of {} pixels", *options.dummy, name_of(type)),
                  "give a finite number");
    }
    return Dummy{as_pixels_hold_it(*options.dummy, type), options.delta_dummy.value_or(0)};
  }
  if (!detector.dectris) return std::nullopt;
  // Gaps are -1, dead pixels -2, noisy ones -3; detectors that write unsigned frames wrap these around to the
  // top values.
  const TypeLimits limits = limits_of(type);
  return Dummy{limits.is_unsigned ? limits.highest - 1 : -2, options.delta_dummy.value_or(1.5)};
}

std::optional<long double> largest_value(std::optional<std::int64_t> saturation, PixelType type) {
  std::optional<long double> largest;
  if (saturation) largest = static_cast<long double>(*saturation);
  if (is_float(type)) return largest;
  const TypeLimits limits = limits_of(type);
  // The lowest 64-bit integer counts, although none is as high as it is low.
  const long double highest = type == PixelType::kI64 ? -limits.lowest : limits.highest;
  const long double top = limits.is_unsigned ? limits.highest - 1 : highest;
  return std::min(largest.value_or(top), top);
}

Validity make_validity(const IntegrationOptions& options, const Detector& detector,
                       const FrameProperties& frames) {
  if (options.max_count && *options.max_count < 1) {
    throw Error(ErrorKind::kUsage, "`max_count`", fmt::format("{} leaves no valid pixel", *options.max_count),
                "give the count at which the detector saturates");
  }
  Validity validity;
  const auto dummy = effective_dummy(options, detector, frames.type);
  const auto saturation = saturation_of(options, frames.max_count);
  if (needs_quantising(frames.type)) {
    validity.max_count = kMaxQuantised;
    if (saturation && !is_float(frames.type)) validity.max_count = std::min(validity.max_count, *saturation);
    return validity;
  }
  const TypeLimits limits = limits_of(frames.type);
  validity.max_count = static_cast<std::int64_t>(*largest_value(saturation, frames.type));
  if (dummy) {
    const long double low = std::ceil(std::max(dummy->value - dummy->delta, limits.lowest));
    const long double high = std::floor(std::min(dummy->value + dummy->delta, limits.highest));
    if (low <= high) {
      validity.dummy_low = static_cast<std::int64_t>(low);
      validity.dummy_high = static_cast<std::int64_t>(high);
    }
  }
  return validity;
}

}  // namespace annulus
