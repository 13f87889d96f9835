#include <annulus/codecs/float_blocks.hpp>
#include <annulus/codecs/quantise.hpp>
#include <annulus/core/buffer_pool.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace annulus {
namespace {

constexpr std::int32_t kInvalidRounded = std::numeric_limits<std::int32_t>::max();
constexpr int kLargestBits = 30;
constexpr int kMostFractionBits = 200;
constexpr int kMostOfCounts = 29;  // with variance: one count fits 32 bits
constexpr int kLeastOfCounts = 4;  // a sixteenth of a count

// What one integer per pixel can hold of values below 2^high that are multiples of 2^low.
int fraction_bits_for(const Extent& extent, int high, bool with_variance) {
  const int exact = extent.low < 0 ? -extent.low : 0;
  return std::min({exact, kLargestBits - high, with_variance ? kMostOfCounts : kMostFractionBits});
}

template <typename Pixel>
[[noreturn]] void refuse(const Frame& frame, const FloatValidity& validity) {
  std::size_t largest = 0;
  long double most = -1;
  for_each_block<Pixel>(frame, validity, [&](const Block<Pixel>& block) {
    for (std::size_t i = 0; i < block.count; ++i) {
      const long double magnitude = std::abs(static_cast<long double>(block.values[i]));
      if (magnitude <= most) continue;
      most = magnitude;
      largest = block.first + i;
    }
  });
  throw Error(
      ErrorKind::kInput, describe(frame),
      fmt::format(
          "pixel at row {}, column {} is {}: beside such a value clips and errors by the spread would see "
          "the others to no better than a count",
          largest / frame.shape.cols, largest % frame.shape.cols, static_cast<double>(most)),
      "exclude it with `max_count`, `dummy` or `mask`");
}

template <typename Pixel>
std::vector<Frame> round_frame(const Frame& frame, const FloatValidity& validity, const Rounding& rounding) {
  const Extent extent = extent_of<Pixel>(frame, validity);
  int dark_high = 0;
  std::frexp(rounding.largest_dark, &dark_high);
  const int high = rounding.largest_dark > 0 ? std::max(extent.high, dark_high) : extent.high;
  const int fraction_bits = fraction_bits_for(extent, high, rounding.with_variance);
  const int exact = extent.low < 0 ? -extent.low : 0;
  if (fraction_bits < 0 || (fraction_bits < exact && fraction_bits < kLeastOfCounts))
    refuse<Pixel>(frame, validity);
  auto memory = frame_memory().take(frame.shape.size() * sizeof(std::int32_t));
  auto* const rounded = reinterpret_cast<std::int32_t*>(memory.get());
  for_each_block<Pixel>(frame, validity, [&](const Block<Pixel>& block) {
    for (std::size_t i = 0; i < block.count; ++i) {
      const double value = std::ldexp(static_cast<double>(block.values[i]), fraction_bits);
      rounded[block.first + i] =
          block.valid[i] != 0 ? static_cast<std::int32_t>(std::nearbyint(value)) : kInvalidRounded;
    }
  });
  std::vector<Frame> result{frame};
  result.front().type = PixelType::kI32;
  result.front().fraction_bits = fraction_bits;
  result.front().payload = Bytes(memory, std::as_bytes(std::span(rounded, frame.shape.size())));
  return result;
}

}  // namespace

std::vector<Frame> round_pixels(const Frame& frame, const FloatValidity& validity, const Rounding& rounding) {
  if (!is_quantised(frame)) return {frame};
  switch (frame.type) {
    case PixelType::kF32:
      return round_frame<float>(frame, validity, rounding);
    case PixelType::kF64:
      return round_frame<double>(frame, validity, rounding);
    case PixelType::kI64:
      return round_frame<std::int64_t>(frame, validity, rounding);
    default:
      return round_frame<std::uint64_t>(frame, validity, rounding);
  }
}

}  // namespace annulus
