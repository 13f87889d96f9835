#include <annulus/cpu/lane_kernels.hpp>

#include <algorithm>

namespace annulus {
namespace {

// Unsigned: what is taken from the first bin may pass through anything and end right.
void add_to(std::int64_t& sum, std::uint64_t change) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + change);
}

template <int kBins>
void add_segments(const SegmentsView<kBins>& segments, int weight_bits, const std::int32_t* values,
                  std::int32_t one, std::int64_t* signal, std::int64_t* variance) {
  const SegmentSquares<kBins>* squares = segments.squares;
  for (const Segment<kBins>* segment = segments.begin; segment != segments.end; ++segment) {
    std::int64_t value[kSegment];
    for (int i = 0; i < kSegment; ++i) value[i] = values[segment->pixel[i]];
    auto rest = static_cast<std::uint64_t>(value[0] + value[1] + value[2] + value[3]) << weight_bits;
    if constexpr (kBins > 1) {
      for (int bin = 1; bin < kBins; ++bin) {
        std::int64_t share = 0;
        for (int i = 0; i < kSegment; ++i) share += value[i] * segment->weight[bin - 1][i];
        add_to(signal[segment->first_bin + bin], static_cast<std::uint64_t>(share));
        rest -= static_cast<std::uint64_t>(share);
      }
    }
    add_to(signal[segment->first_bin], rest);
    if (variance == nullptr) continue;
    for (int bin = 0; bin < kBins; ++bin) {
      std::int64_t share = 0;
      for (int i = 0; i < kSegment; ++i) share += (value[i] > one ? value[i] : one) * squares->square[bin][i];
      variance[segment->first_bin + bin] += share;
    }
    ++squares;
  }
}

void copy_row(const std::int32_t* rows, std::size_t, std::size_t count, std::int32_t* values) {
  std::copy_n(rows, count, values);
}

void find_extremes(const std::int32_t* values, std::size_t begin, std::size_t end, std::int32_t* low,
                   std::int32_t* high) {
  std::int32_t least = *low;
  std::int32_t largest = *high;
  for (std::size_t pixel = begin; pixel < end; ++pixel) {
    least = std::min(least, values[pixel]);
    largest = std::max(largest, values[pixel]);
  }
  *low = least;
  *high = largest;
}

void integrate(const BandView& band, const std::int32_t* values, const std::int32_t* one,
               std::int64_t* signal, std::int64_t* variance) {
  add_segments(band.ones, band.weight_bits, values, *one, signal, variance);
  add_segments(band.twos, band.weight_bits, values, *one, signal, variance);
  add_segments(band.threes, band.weight_bits, values, *one, signal, variance);
  for (const WideShare* wide = band.wides_begin; wide != band.wides_end; ++wide) {
    const std::int64_t value = values[wide->pixel];
    signal[wide->bin] += value * wide->weight;
    if (variance != nullptr) variance[wide->bin] += std::max<std::int64_t>(value, *one) * wide->square;
  }
}

}  // namespace

const LaneKernels& single_lane_kernels() {
  static constexpr LaneKernels kSingle = {1, copy_row, find_extremes, integrate};
  return kSingle;
}

}  // namespace annulus
