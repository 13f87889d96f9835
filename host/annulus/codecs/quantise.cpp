#include <annulus/codecs/quantise.hpp>
#include <annulus/core/buffer_pool.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace annulus {
namespace {

constexpr std::int32_t kInvalid = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kLargest = kInvalid - 1;  // what a plan's max_count allows
constexpr int kMantissaBits = 30;
constexpr int kLossAllowed = 10;  // bits that a limited fraction may take from the values

bool is_valid(double value, std::size_t pixel, const FloatValidity& validity) {
  if (!std::isfinite(value)) return false;
  if (validity.is_used && !validity.is_used(pixel)) return false;
  if (validity.dummy && std::abs(value - *validity.dummy) <= validity.delta) return false;
  return !validity.max_count || std::abs(value) <= *validity.max_count;
}

template <typename Pixel>
Pixel pixel_at(const Frame& frame, std::size_t i) {
  Pixel pixel;  // payloads need not be aligned
  std::memcpy(&pixel, frame.payload.data() + i * sizeof(Pixel), sizeof(Pixel));
  return pixel;
}

template <typename Pixel>
int choose_fraction_bits(const Frame& frame, const FloatValidity& validity, int max_fraction_bits) {
  double largest = 0;
  bool integers = true;
  for (std::size_t i = 0; i < frame.shape.size(); ++i) {
    const double value = pixel_at<Pixel>(frame, i);
    if (!is_valid(value, i, validity)) continue;
    largest = std::max(largest, std::abs(value));
    integers = integers && value == std::trunc(value);
  }
  if (integers && largest < std::ldexp(1.0, kMantissaBits)) return 0;
  // largest = m * 2^exponent with 1/2 <= m < 1, so largest * 2^(30 - exponent) < 2^30, and no more fits.
  int exponent = 0;
  std::frexp(largest, &exponent);
  const int wanted = kMantissaBits - exponent;
  if (max_fraction_bits < kMaxFractionBits && largest > 0 && wanted > max_fraction_bits + kLossAllowed) {
    throw Error(
        ErrorKind::kInput, describe(frame),
        fmt::format("its largest value is {}: far below one count, where counting statistics mean nothing",
                    largest),
        "integrate with `error_model` no, or give frames in counts");
  }
  return std::min(max_fraction_bits, wanted);
}

template <typename Pixel>
void quantise_floats(const Frame& frame, const FloatValidity& validity, int fraction_bits,
                     std::span<std::int32_t> pixels) {
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const double value = pixel_at<Pixel>(frame, i);
    // The default rounding mode is to nearest, ties to even; ldexp is exact here or far below one half.
    pixels[i] = is_valid(value, i, validity)
                    ? static_cast<std::int32_t>(std::nearbyint(std::ldexp(value, fraction_bits)))
                    : kInvalid;
  }
}

template <typename Pixel>
void narrow_integers(const Frame& frame, const FloatValidity& validity, std::span<std::int32_t> pixels) {
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const Pixel value = pixel_at<Pixel>(frame, i);
    if (!is_valid(static_cast<double>(value), i, validity)) {
      pixels[i] = kInvalid;
      continue;
    }
    if (std::cmp_greater(value, kLargest) || std::cmp_less(value, -kLargest)) {
      throw Error(ErrorKind::kInput, describe(frame),
                  fmt::format("pixel at row {}, column {} is {}, beyond the 32-bit integers",
                              i / frame.shape.cols, i % frame.shape.cols, value),
                  "exclude such pixels with `max_count` or `dummy`");
    }
    pixels[i] = static_cast<std::int32_t>(value);
  }
}

}  // namespace

Frame quantise(const Frame& frame, const FloatValidity& validity, int max_fraction_bits) {
  const bool wide = frame.type == PixelType::kI64 || frame.type == PixelType::kU64;
  if (frame.codec != Codec::kRaw || !(wide || is_float(frame.type))) return frame;
  if (frame.payload.size() != frame.shape.size() * size_of(frame.type)) {
    throw Error(ErrorKind::kInput, describe(frame),
                fmt::format("{} bytes do not make {} pixels of {}", frame.payload.size(),
                            to_string(frame.shape), name_of(frame.type)),
                "the file is damaged or incomplete: copy it again");
  }

  Frame result = frame;
  result.type = PixelType::kI32;
  const auto memory = frame_memory().take(frame.shape.size() * sizeof(std::int32_t));
  const std::span pixels(reinterpret_cast<std::int32_t*>(memory.get()), frame.shape.size());
  visit_pixel_type(frame.type, [&](auto zero) {
    using Pixel = decltype(zero);
    if constexpr (std::is_floating_point_v<Pixel>) {
      result.fraction_bits = choose_fraction_bits<Pixel>(frame, validity, max_fraction_bits);
      quantise_floats<Pixel>(frame, validity, result.fraction_bits, pixels);
    } else {
      narrow_integers<Pixel>(frame, validity, pixels);
    }
  });
  result.payload = Bytes(memory, std::as_bytes(pixels));
  return result;
}

}  // namespace annulus
