// The loops of lane_kernels.hpp that sums of squares and clips take, over a kind of vector. Like
// lane_kernels_impl.hpp, compiled for each instruction set on its own, and with the same rule.
#pragma once

#include <annulus/backends/cpu/lane_kernels_impl.hpp>

namespace annulus {
namespace {

// As squared_weight() of plan/fixed_point.hpp, which these files must not share.
inline std::uint32_t square_of(std::uint32_t weight, const SpreadView& spread) {
  const int shift = 2 * spread.weight_bits - spread.square_bits;
  const std::uint64_t half = shift > 0 ? std::uint64_t{1} << (shift - 1) : 0;
  const std::uint64_t square = (std::uint64_t{weight} * weight + half) >> shift;
  return square > 0 ? static_cast<std::uint32_t>(square) : 1u;
}

// Of one bin, while its pixels are added.
template <typename V, bool kWhole>
struct Spread {
  Products<V> squares, squares_upper, products, products_upper;

  void add(typename V::Int value, std::uint32_t divisor, std::uint32_t square) {
    const auto odd = V::odd_lanes(value);
    add_half(V::multiply_lanes(value, value), V::multiply_signed(value, divisor), square, squares.even,
             squares_upper.even, products.even, products_upper.even);
    add_half(V::multiply_lanes(odd, odd), V::multiply_signed(odd, divisor), square, squares.odd,
             squares_upper.odd, products.odd, products_upper.odd);
  }

  void add_to(const SpreadSums& sums, std::size_t place) const {
    squares.add_to(sums.squares + place);
    products.add_to(sums.products + place);
    if constexpr (!kWhole) {
      squares_upper.add_to(sums.squares_upper + place);
      products_upper.add_to(sums.products_upper + place);
    }
  }

 private:
  using Wide = typename V::Wide;
  static void add_half(Wide square, Wide product, std::uint32_t factor, Wide& squares, Wide& squares_upper,
                       Wide& products, Wide& products_upper) {
    if constexpr (kWhole) {
      squares = V::add_wide(squares, square);
      products = V::add_wide(products, product);
    } else {
      add_cut<kSquareCut>(square, factor, squares, squares_upper);
      add_cut<kProductCut>(product, factor, products, products_upper);
    }
  }
  // The upper part keeps the sign: what is taken of it are its 32 bits.
  template <int kCut>
  static void add_cut(Wide value, std::uint32_t factor, Wide& lower, Wide& upper) {
    lower = V::add_wide(lower, V::multiply_unsigned(V::as_int(V::template low_bits<kCut>(value)), factor));
    upper = V::add_wide(upper, V::multiply_signed(V::as_int(V::template shift_right<kCut>(value)), factor));
  }
};

template <typename V, bool kWhole, int kBins>
void add_segment_spread(const Segment<kBins>& segment, const SpreadView& spread, const std::int32_t* values,
                        const SpreadSums& sums) {
  Spread<V, kWhole> bins[kBins];
  for (int i = 0; i < kSegment; ++i) {
    const std::uint16_t pixel = segment.pixel[i];
    const auto value = V::load(values + pixel * V::kLanes);
    std::uint32_t rest = std::uint32_t{1} << spread.weight_bits;
    if constexpr (kBins > 1) {
      for (int bin = 1; bin < kBins; ++bin) {
        const std::uint32_t weight = segment.weight[bin - 1][i];
        rest -= weight;
        bins[bin].add(value, spread.divisor[pixel], kWhole ? 1 : square_of(weight, spread));
      }
    }
    bins[0].add(value, spread.divisor[pixel], kWhole ? 1 : square_of(rest, spread));
  }
  for (int bin = 0; bin < kBins; ++bin) {
    bins[bin].add_to(sums, (std::size_t{segment.first_bin} + static_cast<std::size_t>(bin)) * V::kLanes);
  }
}

template <typename V, bool kWhole>
void add_band_spread(const BandView& band, const SpreadView& spread, const std::int32_t* values,
                     const SpreadSums& sums) {
  for (const auto* segment = band.ones.begin; segment != band.ones.end; ++segment)
    add_segment_spread<V, kWhole>(*segment, spread, values, sums);
  for (const auto* segment = band.twos.begin; segment != band.twos.end; ++segment)
    add_segment_spread<V, kWhole>(*segment, spread, values, sums);
  for (const auto* segment = band.threes.begin; segment != band.threes.end; ++segment)
    add_segment_spread<V, kWhole>(*segment, spread, values, sums);
  for (const WideShare* wide = band.wides_begin; wide != band.wides_end; ++wide) {
    Spread<V, kWhole> bin;
    bin.add(V::load(values + wide->pixel * V::kLanes), spread.divisor[wide->pixel],
            kWhole ? 1 : square_of(wide->weight, spread));
    bin.add_to(sums, std::size_t{wide->bin} * V::kLanes);
  }
}

template <typename V>
void add_spread(const BandView& band, const SpreadView& spread, const std::int32_t* values,
                const SpreadSums& sums) {
  if (spread.square_bits == 0) {
    add_band_spread<V, true>(band, spread, values, sums);
  } else {
    add_band_spread<V, false>(band, spread, values, sums);
  }
}

template <typename V, int kBins>
std::size_t find_doubtful_segments(const SegmentsView<kBins>& segments, const std::uint32_t* divisor,
                                   const std::int32_t* values, const SureWindows& windows,
                                   std::uint32_t* found) {
  std::size_t count = 0;
  for (const auto* segment = segments.begin; segment != segments.end; ++segment) {
    bool doubtful = false;
    for (int bin = 0; bin < kBins; ++bin) {
      const std::size_t place = (std::size_t{segment->first_bin} + static_cast<std::size_t>(bin)) * V::kLanes;
      const auto low = V::load_float(windows.low + place);
      const auto high = V::load_float(windows.high + place);
      auto far = V::nowhere();
      for (int i = 0; i < kSegment; ++i) {
        // What fills up a segment is like its first pixel.
        const std::uint16_t pixel = segment->pixel[i] == kNoPixel ? segment->pixel[0] : segment->pixel[i];
        far = V::also_outside(far, V::load(values + pixel * V::kLanes), static_cast<float>(divisor[pixel]),
                              low, high);
      }
      doubtful |= V::anywhere(far);
    }
    found[count] = static_cast<std::uint32_t>(segment - segments.begin);
    count += doubtful;
  }
  return count;
}

template <typename V>
void find_doubtful(const BandView& band, const std::uint32_t* divisor, const std::int32_t* values,
                   const SureWindows& windows, DoubtfulParts& found) {
  found.one_count = find_doubtful_segments<V>(band.ones, divisor, values, windows, found.ones);
  found.two_count = find_doubtful_segments<V>(band.twos, divisor, values, windows, found.twos);
  found.three_count = find_doubtful_segments<V>(band.threes, divisor, values, windows, found.threes);
  found.wide_count = 0;
  for (const WideShare* wide = band.wides_begin; wide != band.wides_end; ++wide) {
    const std::size_t place = std::size_t{wide->bin} * V::kLanes;
    const auto far = V::also_outside(V::nowhere(), V::load(values + wide->pixel * V::kLanes),
                                     static_cast<float>(divisor[wide->pixel]),
                                     V::load_float(windows.low + place), V::load_float(windows.high + place));
    found.wides[found.wide_count] = static_cast<std::uint32_t>(wide - band.wides_begin);
    found.wide_count += V::anywhere(far);
  }
}

}  // namespace
}  // namespace annulus
