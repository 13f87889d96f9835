// The loops of lane_kernels.hpp for a single frame. Compiled for several instruction sets, like
// lane_kernels_impl.hpp and with the same rule: nothing here may be shared with other files.
#pragma once

#include <annulus/backends/cpu/lane_spread_impl.hpp>

namespace annulus {
namespace {

// Unsigned: what is taken from the first bin may pass through anything and end right.
inline void add_to(std::int64_t& sum, std::uint64_t change) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + change);
}

template <int kBins>
void add_single(const Segment<kBins>& segment, const SegmentSquares<kBins>* squares, int weight_bits,
                const std::int32_t* values, std::int32_t one, std::int64_t* signal, std::int64_t* variance) {
  std::int64_t value[kSegment];
  for (int i = 0; i < kSegment; ++i) value[i] = values[segment.pixel[i]];
  auto rest = static_cast<std::uint64_t>(value[0] + value[1] + value[2] + value[3]) << weight_bits;
  if constexpr (kBins > 1) {
    for (int bin = 1; bin < kBins; ++bin) {
      std::int64_t share = 0;
      for (int i = 0; i < kSegment; ++i) share += value[i] * segment.weight[bin - 1][i];
      add_to(signal[segment.first_bin + bin], static_cast<std::uint64_t>(share));
      rest -= static_cast<std::uint64_t>(share);
    }
  }
  add_to(signal[segment.first_bin], rest);
  if (variance == nullptr) return;
  for (int bin = 0; bin < kBins; ++bin) {
    std::int64_t share = 0;
    for (int i = 0; i < kSegment; ++i) share += (value[i] > one ? value[i] : one) * squares->square[bin][i];
    variance[segment.first_bin + bin] += share;
  }
}

// A segment must wait until the one before, which ends in the same bins, has stored its sums. So four places
// of the list are worked on in turn.
template <int kBins>
void add_single_segments(const SegmentsView<kBins>& segments, int weight_bits, const std::int32_t* values,
                         std::int32_t one, std::int64_t* signal, std::int64_t* variance) {
  const auto add = [&](std::ptrdiff_t i) {
    add_single(segments.begin[i], segments.squares + (variance == nullptr ? 0 : i), weight_bits, values, one,
               signal, variance);
  };
  const std::ptrdiff_t count = segments.end - segments.begin;
  const std::ptrdiff_t quarter = count / 4;
  for (std::ptrdiff_t i = 0; i < quarter; ++i) {
    add(i);
    add(quarter + i);
    add(2 * quarter + i);
    add(3 * quarter + i);
  }
  for (std::ptrdiff_t i = 4 * quarter; i < count; ++i) add(i);
}

inline void integrate_single(const BandView& band, const std::int32_t* values, const std::int32_t* one,
                             std::int64_t* signal, std::int64_t* variance) {
  add_single_segments(band.ones, band.weight_bits, values, *one, signal, variance);
  add_single_segments(band.twos, band.weight_bits, values, *one, signal, variance);
  add_single_segments(band.threes, band.weight_bits, values, *one, signal, variance);
  for (const WideShare* wide = band.wides_begin; wide != band.wides_end; ++wide) {
    const std::int64_t value = values[wide->pixel];
    signal[wide->bin] += value * wide->weight;
    if (variance != nullptr)
      variance[wide->bin] += (value > *one ? value : *one) * std::int64_t{wide->square};
  }
}

inline void copy_row(const std::int32_t* rows, std::size_t, std::size_t count, std::int32_t* values) {
  for (std::size_t pixel = 0; pixel < count; ++pixel) values[pixel] = rows[pixel];
}

inline void find_single_extremes(const std::int32_t* values, std::size_t begin, std::size_t end,
                                 std::int32_t* low, std::int32_t* high) {
  std::int32_t least = *low;
  std::int32_t largest = *high;
  for (std::size_t pixel = begin; pixel < end; ++pixel) {
    least = values[pixel] < least ? values[pixel] : least;
    largest = values[pixel] > largest ? values[pixel] : largest;
  }
  *low = least;
  *high = largest;
}

inline std::size_t find_single_outside(const std::int32_t* values, std::size_t begin, std::size_t end,
                                       std::int32_t low, std::int32_t high, std::uint32_t* found) {
  std::size_t count = 0;
  for (std::size_t pixel = begin; pixel < end; ++pixel) {
    found[count] = static_cast<std::uint32_t>(pixel);
    count += static_cast<std::size_t>(values[pixel] < low || values[pixel] > high);
  }
  return count;
}

// A vector of one lane: squares and windows take too long for the order of operations to matter.
struct Single {
  static constexpr std::size_t kLanes = 1;
  using Int = std::int32_t;
  using Wide = std::int64_t;
  using Float = float;
  using Where = int;

  static Int load(const std::int32_t* at) { return *at; }
  static Int odd_lanes(Int) { return 0; }
  static Wide zero() { return 0; }
  static Wide load_wide(const std::int64_t* at) { return *at; }
  static void store_wide(std::int64_t* at, Wide value) { *at = value; }
  static Wide add_wide(Wide a, Wide b) {
    return static_cast<Wide>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  static Wide multiply_signed(Int value, std::uint32_t factor) {
    return Wide{value} * static_cast<std::int32_t>(factor);
  }
  static Wide multiply_unsigned(Int value, std::uint32_t factor) {
    return static_cast<Wide>(std::uint64_t{static_cast<std::uint32_t>(value)} * factor);
  }
  static Wide multiply_lanes(Int a, Int b) { return Wide{a} * b; }
  template <int kBits>
  static Wide low_bits(Wide value) {
    return value & ((Wide{1} << kBits) - 1);
  }
  template <int kBits>
  static Wide shift_right(Wide value) {
    return value >> kBits;
  }
  static Int as_int(Wide value) { return static_cast<Int>(value); }
  static Float load_float(const float* at) { return *at; }
  static Where nowhere() { return 0; }
  static Where also_outside(Where where, Int value, float divisor, Float low, Float high) {
    const auto number = static_cast<float>(value);
    return where | static_cast<int>(number < low * divisor) | static_cast<int>(number > high * divisor);
  }
  static bool anywhere(Where where) { return where != 0; }
};

constexpr LaneKernels kSingleLane = {1,
                                     copy_row,
                                     find_single_extremes,
                                     find_single_outside,
                                     integrate_single,
                                     add_spread<Single>,
                                     find_doubtful<Single>};

}  // namespace
}  // namespace annulus
