// The plan as the CPU reads it: bands of pixels that fit the cache, and within a band the pixels sorted by
// bin.
//
// Pixels over the same bins stand together in segments of four. A segment is summed in registers and added to
// its bins once, and the loop over segments has no branch. In pixel order each pixel would wait for the one
// before to be written.
#pragma once

#include <annulus/core/large_vector.hpp>
#include <annulus/plan/recipe.hpp>

#include <cstdint>
#include <vector>

namespace annulus {

// Pixels of a band. With fewer, more segments are not full; with more, the values of 16 frames, 512
// KiB, would not fit a second-level cache.
constexpr std::uint32_t kBandPixels = 8192;

// What fills up a segment: a place after the pixels of every band, where all values are 0.
constexpr std::uint16_t kNoPixel = kBandPixels;

constexpr int kSegment = 4;

// Four pixels of one band that share kBins neighbouring bins. The first bin gets what is left of each pixel's
// 2^weight_bits, so its weights need not be stored.
template <int kBins>
struct Segment {
  std::uint32_t first_bin;
  std::uint16_t pixel[kSegment];  // in the band, or kNoPixel
  std::uint32_t weight[kBins - 1][kSegment];
};
template <>
struct Segment<1> {
  std::uint32_t first_bin;
  std::uint16_t pixel[kSegment];
};

// Squares of a segment's weights, for the variance (squared_weight in plan/fixed_point.hpp); 0 for kNoPixel.
template <int kBins>
struct SegmentSquares {
  std::uint32_t square[kBins][kSegment];
};

// One share of a pixel over more than three bins.
struct WideShare {
  std::uint32_t bin;
  std::uint32_t pixel;  // in the band
  std::uint32_t weight;
  std::uint32_t square;
};

// Pixels [begin, end) of a band that all have weights.
struct UsedRange {
  std::uint32_t begin;
  std::uint32_t end;
};

// Where the parts of a band are in the arrays of the plan.
struct BandParts {
  std::uint32_t ones = 0;
  std::uint32_t twos = 0;
  std::uint32_t threes = 0;
  std::uint32_t wides = 0;
  std::uint32_t ranges = 0;
};

struct BandedPlan {
  std::uint32_t bins = 0;
  int weight_bits = 0;
  bool has_squares = false;      // for the variance
  std::vector<BandParts> bands;  // one more than there are bands: a band ends where the next begins
  LargeVector<Segment<1>> ones;
  LargeVector<Segment<2>> twos;
  LargeVector<Segment<3>> threes;
  LargeVector<WideShare> wides;
  std::vector<UsedRange> ranges;

  // Parallel to the segments; empty without error model.
  LargeVector<SegmentSquares<1>> one_squares;
  LargeVector<SegmentSquares<2>> two_squares;
  LargeVector<SegmentSquares<3>> three_squares;

  std::size_t band_count() const { return bands.size() - 1; }
};

// Equal elements of a band, with their squares where there is an error model.
template <int kBins>
struct SegmentsView {
  const Segment<kBins>* begin;
  const Segment<kBins>* end;
  const SegmentSquares<kBins>* squares;
};

// One band, as plain pointers for the inner loops.
struct BandView {
  int weight_bits;
  SegmentsView<1> ones;
  SegmentsView<2> twos;
  SegmentsView<3> threes;
  const WideShare* wides_begin;
  const WideShare* wides_end;
};

BandView view_of(const BandedPlan& plan, std::size_t band);

BandedPlan make_banded_plan(const Job& job, unsigned threads);

}  // namespace annulus
