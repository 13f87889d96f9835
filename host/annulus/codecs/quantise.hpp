// Frames of types that backends do not take, as raw int32 frames that hold the same values exactly.
#pragma once

#include <annulus/core/frame.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace annulus {

// Which values count. NaN and infinities never do.
struct FloatValidity {
  std::optional<long double> dummy;      // which holds every 64-bit integer
  double delta = 0;                      // |value - dummy| <= delta is invalid
  std::optional<long double> max_count;  // |value| above it is invalid
  std::span<const std::uint8_t> used{};  // by pixel: 0 is invalid, whatever it holds; empty: all are 1
};

// A layer is one digit of every pixel. The CPU's inner loops take values of up to 29 bits at once.
constexpr int kLayerBits = 29;
constexpr int kMostLayers = 12;

// Raw frames of float32, float64, int64 and uint64 become raw int32 frames, the layers; a frame of any other
// type or codec is returned as it is.
//
// fraction_bits is the least number >= 0 for which every valid value * 2^fraction_bits is an integer. If all
// of these integers are at most INT32_MAX - 1, they are the only layer. Otherwise layer k holds their digits
// number k to the base 2^29, in units of 2^(29 k - fraction_bits), which is its Frame::fraction_bits. Digits
// have the sign of the value. Layers of zeros are left out.
//
// The first of the layers marks invalid pixels: they are INT32_MAX, which a plan for such frames rejects. In
// the others they are 0, and add nothing.
//
// with_variance: the first layer is the one that can hold one count, and digits are chosen so that
//   sum over layers of max(digit, one_count(layer)) * unit = max(value, one count),
// because that is what backends add to variances. Where a value is below one count, this takes digits that
// are not positive in all other layers; elsewhere, digits that are not negative.
//
// Throws kInput, naming the pixels, if there are more than kMostLayers: never for float32 and integers. With
// variance also if the largest value is below 2^-10 counts.
std::vector<Frame> quantise(const Frame& frame, const FloatValidity& validity, bool with_variance = false);

// For sums of squares, which layers cannot be added up to: the same values, rounded to one int32 each, so one
// frame. fraction_bits is the least number for which all are exact, or else the largest for which they and
// the darks fit.
struct Rounding {
  bool with_variance = false;
  double largest_dark = 0;  // in counts, in magnitude
};

// Throws kInput, naming the largest pixel, if others would be rounded to more than a sixteenth of a count.
std::vector<Frame> round_pixels(const Frame& frame, const FloatValidity& validity, const Rounding& rounding);

// Whether a frame is of these types and uncompressed. Throws kInput if its payload does not have its pixels.
bool is_quantised(const Frame& frame);

}  // namespace annulus
