// The loops of lane_kernels.hpp over a kind of vector. Each file that includes this is compiled for its own
// instruction set, so nothing here may be shared with other files: everything is in an unnamed namespace, and
// no function of the standard library is used.
#pragma once

#include <annulus/backends/cpu/lane_kernels.hpp>

namespace annulus {
namespace {

template <typename V>
void find_extremes(const std::int32_t* values, std::size_t begin, std::size_t end, std::int32_t* low,
                   std::int32_t* high) {
  auto least = V::load(low);
  auto largest = V::load(high);
  for (std::size_t pixel = begin; pixel < end; ++pixel) {
    const auto value = V::load(values + pixel * V::kLanes);
    least = V::min(least, value);
    largest = V::max(largest, value);
  }
  V::store(low, least);
  V::store(high, largest);
}

template <typename V>
std::size_t find_outside(const std::int32_t* values, std::size_t begin, std::size_t end, std::int32_t low,
                         std::int32_t high, std::uint32_t* found) {
  const auto lowest = V::everywhere(low);
  const auto highest = V::everywhere(high);
  std::size_t count = 0;
  for (std::size_t pixel = begin; pixel < end; ++pixel) {
    found[count] = static_cast<std::uint32_t>(pixel);
    count += V::any_outside(V::load(values + pixel * V::kLanes), lowest, highest);
  }
  return count;
}

// Products with the even and with the odd lanes, added up.
template <typename V>
struct Products {
  typename V::Wide even = V::zero();
  typename V::Wide odd = V::zero();

  void add_signed(typename V::Int value, std::uint32_t factor) {
    even = V::add_wide(even, V::multiply_signed(value, factor));
    odd = V::add_wide(odd, V::multiply_signed(V::odd_lanes(value), factor));
  }
  void add_unsigned(typename V::Int value, std::uint32_t factor) {
    even = V::add_wide(even, V::multiply_unsigned(value, factor));
    odd = V::add_wide(odd, V::multiply_unsigned(V::odd_lanes(value), factor));
  }
  void subtract(const Products& other) {
    even = V::subtract_wide(even, other.even);
    odd = V::subtract_wide(odd, other.odd);
  }
  void add_to(std::int64_t* sums) const {
    V::store_wide(sums, V::add_wide(V::load_wide(sums), even));
    V::store_wide(sums + V::kLanes / 2, V::add_wide(V::load_wide(sums + V::kLanes / 2), odd));
  }
};

template <typename V, int kBins>
void add_signal(const Segment<kBins>& segment, const std::int32_t* values, std::uint32_t whole,
                std::int64_t* signal) {
  Products<V> share[kBins];
  auto sum = V::load(values + segment.pixel[0] * V::kLanes);
  for (int i = 0; i < kSegment; ++i) {
    const auto value = V::load(values + segment.pixel[i] * V::kLanes);
    if (i > 0) sum = V::add(sum, value);
    if constexpr (kBins > 1) {
      for (int bin = 1; bin < kBins; ++bin) share[bin].add_signed(value, segment.weight[bin - 1][i]);
    }
  }
  share[0].add_signed(sum, whole);
  for (int bin = 1; bin < kBins; ++bin) share[0].subtract(share[bin]);
  std::int64_t* const sums = signal + std::size_t{segment.first_bin} * V::kLanes;
  for (int bin = 0; bin < kBins; ++bin) share[bin].add_to(sums + bin * V::kLanes);
}

template <typename V, int kBins>
void add_variance(const Segment<kBins>& segment, const SegmentSquares<kBins>& squares,
                  const std::int32_t* values, typename V::Int one, std::int64_t* variance) {
  Products<V> share[kBins];
  for (int i = 0; i < kSegment; ++i) {
    const auto value = V::max(V::load(values + segment.pixel[i] * V::kLanes), one);
    for (int bin = 0; bin < kBins; ++bin) share[bin].add_unsigned(value, squares.square[bin][i]);
  }
  std::int64_t* const sums = variance + std::size_t{segment.first_bin} * V::kLanes;
  for (int bin = 0; bin < kBins; ++bin) share[bin].add_to(sums + bin * V::kLanes);
}

template <typename V, int kBins>
void add_segments(const SegmentsView<kBins>& segments, const std::int32_t* values, std::uint32_t whole,
                  const std::int32_t* one, std::int64_t* signal, std::int64_t* variance) {
  if (variance == nullptr) {
    for (const auto* segment = segments.begin; segment != segments.end; ++segment) {
      add_signal<V>(*segment, values, whole, signal);
    }
    return;
  }
  const auto ones = V::load(one);
  const auto* squares = segments.squares;
  for (const auto* segment = segments.begin; segment != segments.end; ++segment, ++squares) {
    add_signal<V>(*segment, values, whole, signal);
    add_variance<V>(*segment, *squares, values, ones, variance);
  }
}

template <typename V>
void add_wide(const WideShare& share, const std::int32_t* values, const std::int32_t* one,
              std::int64_t* signal, std::int64_t* variance) {
  const auto value = V::load(values + share.pixel * V::kLanes);
  Products<V> product;
  product.add_signed(value, share.weight);
  product.add_to(signal + std::size_t{share.bin} * V::kLanes);
  if (variance == nullptr) return;
  Products<V> square;
  square.add_unsigned(V::max(value, V::load(one)), share.square);
  square.add_to(variance + std::size_t{share.bin} * V::kLanes);
}

template <typename V>
void integrate_lanes(const BandView& band, const std::int32_t* values, const std::int32_t* one,
                     std::int64_t* signal, std::int64_t* variance) {
  const std::uint32_t whole = std::uint32_t{1} << band.weight_bits;
  add_segments<V>(band.ones, values, whole, one, signal, variance);
  add_segments<V>(band.twos, values, whole, one, signal, variance);
  add_segments<V>(band.threes, values, whole, one, signal, variance);
  for (const WideShare* wide = band.wides_begin; wide != band.wides_end; ++wide) {
    add_wide<V>(*wide, values, one, signal, variance);
  }
}

}  // namespace
}  // namespace annulus
