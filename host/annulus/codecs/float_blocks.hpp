// Pixels of frames that backends do not take as they are, block by block, and how large and how fine they
// are.
#pragma once

#include <annulus/codecs/quantise.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

namespace annulus {
namespace {

// Pixels that are worked on at once, while they are in the first-level cache.
constexpr std::size_t kBlock = 1024;

template <typename Pixel>
std::uint64_t magnitude_of(Pixel value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return std::is_signed_v<Pixel> && value < 0 ? 0 - bits : bits;
}

template <typename Pixel>
struct Block {
  using Mask = std::conditional_t<sizeof(Pixel) == 4, std::int32_t, std::int64_t>;

  std::size_t first = 0;  // pixel of the frame
  std::size_t count = 0;
  std::array<Pixel, kBlock> values;  // 0 where the value does not count
  std::array<Mask, kBlock> valid;    // all bits, or none: as wide as a value, so that loops become vectors
};

// The largest value of the type that is not above the limit; NaN and infinities are above it.
template <typename Pixel>
auto largest_valid(const FloatValidity& validity) {
  if constexpr (std::is_floating_point_v<Pixel>) {
    constexpr Pixel kMost = std::numeric_limits<Pixel>::max();
    const long double limit = std::min<long double>(validity.max_count.value_or(kMost), kMost);
    const auto nearest = static_cast<Pixel>(limit);
    return nearest <= limit ? nearest : std::nextafter(nearest, Pixel{0});
  } else {
    const long double limit = validity.max_count.value_or(0x1p64L);
    return limit < 0x1p64L ? static_cast<std::uint64_t>(limit) : std::numeric_limits<std::uint64_t>::max();
  }
}

// Floating-point pixels are compared as doubles, integers with the integers in the interval.
template <typename Pixel>
void exclude_dummies(const FloatValidity& validity, Block<Pixel>& block) {
  if constexpr (std::is_floating_point_v<Pixel>) {
    const auto dummy = static_cast<double>(*validity.dummy);
    for (std::size_t i = 0; i < block.count; ++i)
      block.valid[i] &= std::abs(static_cast<double>(block.values[i]) - dummy) <= validity.delta ? 0 : -1;
  } else {
    constexpr long double kLowest = std::numeric_limits<Pixel>::lowest();
    constexpr long double kHighest = std::numeric_limits<Pixel>::max();
    const long double low = std::max(std::ceil(*validity.dummy - validity.delta), kLowest);
    const long double high = std::min(std::floor(*validity.dummy + validity.delta), kHighest);
    if (!(low <= high)) return;
    const auto first = static_cast<Pixel>(low), last = static_cast<Pixel>(high);
    for (std::size_t i = 0; i < block.count; ++i)
      block.valid[i] &= block.values[i] >= first && block.values[i] <= last ? 0 : -1;
  }
}

template <typename Pixel>
void read_block(const Frame& frame, const FloatValidity& validity, std::size_t first, Block<Pixel>& block) {
  using Mask = typename Block<Pixel>::Mask;
  block.first = first;
  block.count = std::min(kBlock, frame.shape.size() - first);
  const std::size_t count = block.count;
  Pixel* const values = block.values.data();
  Mask* const valid = block.valid.data();
  std::memcpy(values, frame.payload.data() + first * sizeof(Pixel), count * sizeof(Pixel));
  const auto largest = largest_valid<Pixel>(validity);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<Pixel>) {
      valid[i] = std::abs(values[i]) <= largest ? -1 : 0;
    } else {
      valid[i] = magnitude_of(values[i]) <= largest ? -1 : 0;
    }
  }
  if (validity.dummy) exclude_dummies(validity, block);
  if (!validity.used.empty()) {
    const std::uint8_t* const used = validity.used.data() + first;
    for (std::size_t i = 0; i < count; ++i) valid[i] &= -Mask{used[i]};
  }
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = std::bit_cast<Pixel>(static_cast<Mask>(std::bit_cast<Mask>(values[i]) & valid[i]));
  }
}

template <typename Pixel, typename Work>
void for_each_block(const Frame& frame, const FloatValidity& validity, const Work& work) {
  const auto block = std::make_unique_for_overwrite<Block<Pixel>>();
  for (std::size_t first = 0; first < frame.shape.size(); first += kBlock) {
    read_block(frame, validity, first, *block);
    work(*block);
  }
}

// Of values: all are below 2^high and multiples of 2^low.
struct Extent {
  double largest = 0;  // in magnitude, rounded
  int high = 0;
  int low = std::numeric_limits<int>::max();  // stays so if all are 0
};

// How a floating-point number is stored: (mantissa with its hidden bit) * 2^(exponent - bias - kMantissa);
// an exponent of 0 stands for 1 and no hidden bit.
template <typename Pixel>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Int = std::int32_t;
  static constexpr int kMantissa = 23;
  static constexpr int kBias = 127;
};
template <>
struct FloatBits<double> {
  using Int = std::int64_t;
  static constexpr int kMantissa = 52;
  static constexpr int kBias = 1023;
};

// Two numbers of integers of the pixel's width, so that the loop can be made of vectors.
template <typename Pixel>
struct ExtentBits {
  using Bits = FloatBits<Pixel>;
  using Int = typename Bits::Int;

  Int largest = 0;  // the magnitude's bits, which are ordered as the magnitudes are
  Int low = kNone;

  void add(const Pixel* values, std::size_t count) {
    Int most = largest;
    Int least = low;
    for (std::size_t i = 0; i < count; ++i) {
      const Int magnitude = std::bit_cast<Int>(values[i]) & std::numeric_limits<Int>::max();
      const Int exponent = magnitude >> Bits::kMantissa;
      const Int fraction = magnitude & (kHidden - 1);
      const Int mantissa = exponent > 0 ? fraction | kHidden : fraction;
      // A power of two as a floating-point number has its logarithm as the exponent.
      const Int last = std::bit_cast<Int>(static_cast<Pixel>(mantissa & -mantissa)) >> Bits::kMantissa;
      const Int position = magnitude > 0 ? std::max<Int>(exponent, 1) + last : kNone;
      most = std::max(most, magnitude);
      least = std::min(least, position);
    }
    largest = most;
    low = least;
  }

  Extent extent() const {
    Extent result;
    result.largest = std::bit_cast<Pixel>(largest);
    std::frexp(result.largest, &result.high);
    if (low < kNone) result.low = static_cast<int>(low) - Bits::kBias - (Bits::kBias + Bits::kMantissa);
    return result;
  }

  static constexpr Int kHidden = Int{1} << Bits::kMantissa;
  static constexpr Int kNone = 1 << 20;
};

template <typename Pixel>
Extent extent_of(const Frame& frame, const FloatValidity& validity) {
  if constexpr (std::is_floating_point_v<Pixel>) {
    ExtentBits<Pixel> bits;
    for_each_block<Pixel>(frame, validity,
                          [&](const Block<Pixel>& block) { bits.add(block.values.data(), block.count); });
    return bits.extent();
  } else {
    std::uint64_t largest = 0;
    for_each_block<Pixel>(frame, validity, [&](const Block<Pixel>& block) {
      for (std::size_t i = 0; i < block.count; ++i) {
        largest = std::max(largest, magnitude_of(block.values[i]));
      }
    });
    return {static_cast<double>(largest), static_cast<int>(std::bit_width(largest)), 0};
  }
}

}  // namespace
}  // namespace annulus
