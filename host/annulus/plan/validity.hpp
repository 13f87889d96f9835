// Which raw values of a frame count: dummies and saturation, in the frame's own integer type. Limits are
// `long double`, which holds every value of every type.
#pragma once

#include <annulus/plan/plan.hpp>

#include <limits>
#include <optional>

namespace annulus {

static_assert(std::numeric_limits<long double>::digits >= 64);

// Where the value of a type that backends do not take (floats, 64-bit integers) is brought to int32 on the
// host, invalid pixels become INT32_MAX: just above this limit.
constexpr std::int64_t kMaxQuantised = INT32_MAX - 1;

bool needs_quantising(PixelType type);

// Counts above are invalid: what the user says, else what the file says.
std::optional<std::int64_t> saturation_of(const IntegrationOptions& options,
                                          std::optional<std::int64_t> of_the_file);

// Values above (and below minus it) are invalid in frames of `type`; none: no limit is known. The top value
// of an unsigned type is never a count: detectors write it where they have none, and saturate there.
std::optional<long double> largest_value(std::optional<std::int64_t> saturation, PixelType type);

// The value and half-width of the dummy interval for frames of `type`; none if every value counts. What the
// user gives is compared by value, whatever the type: by the value that the pixels have which mean it, the
// nearest of floating-point pixels. The detector's habit is at the top of unsigned types.
struct Dummy {
  long double value = 0;
  double delta = 0;
};
std::optional<Dummy> effective_dummy(const IntegrationOptions& options, const Detector& detector,
                                     PixelType type);

// Throws kUsage for limits that make no sense.
Validity make_validity(const IntegrationOptions& options, const Detector& detector,
                       const FrameProperties& frames);

}  // namespace annulus
