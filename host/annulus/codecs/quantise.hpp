// Frames of types that backends do not take, as int32 with one power of two per frame.
#pragma once

#include <annulus/core/frame.hpp>

#include <cstddef>
#include <functional>
#include <optional>

namespace annulus {

// Which values count, judged before rounding. NaN and infinities never do.
struct FloatValidity {
  std::optional<double> dummy;
  double delta = 0;                 // |value - dummy| <= delta is invalid
  std::optional<double> max_count;  // |value| above it is invalid

  // Pixels for which it is false are invalid too, whatever they hold; empty: all are used.
  std::function<bool(std::size_t pixel)> is_used = {};
};

// Raw frames of float32, float64, int64 and uint64 become raw int32 frames; all others pass unchanged.
//
// Floats: where every valid value is an integer below 2^30, the frame is exact and fraction_bits is 0.
// Otherwise pixel = round_to_even(value * 2^fraction_bits) with the largest fraction_bits (negative for huge
// values) for which the largest valid |value| stays below 2^30: no pixel is off by more than 2^-30 of it.
// 64-bit integers: kept as they are; a valid value that does not fit throws kInput.
//
// Invalid pixels become INT32_MAX. A plan for such frames has max_count <= INT32_MAX - 1, so it rejects
// them, and values of 64-bit integers are held to |value| <= INT32_MAX - 1 for the same reason.
//
// max_fraction_bits limits the fraction: kCountFractionBits where one count must be a pixel value too,
// because variances are at least that. Throws kInput where the limit would leave less than 20 bits of the
// values.
constexpr int kCountFractionBits = 30;
constexpr int kMaxFractionBits = 1000;  // keeps 2^-fraction_bits a normal double
Frame quantise(const Frame& frame, const FloatValidity& validity, int max_fraction_bits = kMaxFractionBits);

}  // namespace annulus
