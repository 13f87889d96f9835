// The inner loops of the CPU, once for each instruction set. All give the same integers.
//
// A lane is a frame: frames are reduced side by side, and the values of one pixel in all lanes stand
// together. Sums are kept in the order in which vectors give products: of each bin first the even lanes, then
// the odd.
#pragma once

#include <annulus/backends/cpu/banded_plan.hpp>
#include <annulus/core/instruction_set.hpp>

#include <cstddef>
#include <cstdint>

namespace annulus {

// A segment's values are added in 32 bits, so each must be less than a quarter of them.
constexpr std::int32_t kLargestLaneValue = (1 << 29) - 1;

// What a band adds for sums of squares (plan/spread_table.hpp). Divisors are by pixel of the band, with any
// number for kNoPixel.
struct SpreadView {
  const std::uint32_t* divisor;
  int weight_bits;
  int square_bits;  // 0: every square is 1
};

// Sums of squares and of products, as places (bin, lane) like those of a signal. With squares of weights each
// product is cut in two, so that sums fit 64 bits: the upper parts count 2^kSquareCut and 2^kProductCut.
// Without, the upper parts are not used.
constexpr int kSquareCut = 20;
constexpr int kProductCut = 21;
struct SpreadSums {
  std::int64_t* squares;
  std::int64_t* squares_upper;
  std::int64_t* products;
  std::int64_t* products_upper;
};

// |s| of values that these loops take.
constexpr std::int32_t kLargestSpreadValue = (1 << 20) - 1;

// Windows as limits of s / n, rounded inwards by so much that a value within them is surely in its window. By
// (bin, lane), in the order of lanes.
struct SureWindows {
  const float* low;
  const float* high;
};

// Parts of a band, as they are numbered in its BandView.
struct DoubtfulParts {
  std::uint32_t* ones;  // numbers of segments, with room for one more than there are
  std::uint32_t* twos;
  std::uint32_t* threes;
  std::uint32_t* wides;
  std::size_t one_count;
  std::size_t two_count;
  std::size_t three_count;
  std::size_t wide_count;
};

struct LaneKernels {
  std::size_t lanes;

  // values[pixel * lanes + lane] = rows[lane * stride + pixel] for `count` pixels, a multiple of 8.
  void (*interleave)(const std::int32_t* rows, std::size_t stride, std::size_t count, std::int32_t* values);

  // The least and the largest value of each lane in pixels [begin, end); `low` and `high` are updated.
  void (*extremes)(const std::int32_t* values, std::size_t begin, std::size_t end, std::int32_t* low,
                   std::int32_t* high);

  // Pixels of [begin, end) with a value outside [low, high] in some lane: their number, and which at `found`,
  // which has room for one more than there are.
  std::size_t (*find_outside)(const std::int32_t* values, std::size_t begin, std::size_t end,
                              std::int32_t low, std::int32_t high, std::uint32_t* found);

  // Adds a band to the sums. values: kBandPixels + 1 pixels, the last 0, all within kLargestLaneValue.
  // one: what a variance is at least, for each lane. variance: nullptr without error model.
  void (*integrate)(const BandView& band, const std::int32_t* values, const std::int32_t* one,
                    std::int64_t* signal, std::int64_t* variance);

  // Adds the squares of a band. values: s of kBandPixels + 1 pixels, the last 0, all within
  // kLargestSpreadValue.
  void (*add_spread)(const BandView& band, const SpreadView& spread, const std::int32_t* values,
                     const SpreadSums& sums);

  // Finds the segments with a value that may lie outside its window.
  void (*find_doubtful)(const BandView& band, const std::uint32_t* divisor, const std::int32_t* values,
                        const SureWindows& windows, DoubtfulParts& found);

  // Where the sum of a lane is among the `lanes` sums of a bin.
  std::size_t place_of(std::size_t lane) const { return lane % 2 * (lanes / 2) + lane / 2; }
};

const LaneKernels& lane_kernels(InstructionSet set);

// The same for a single frame.
const LaneKernels& single_lane_kernels(InstructionSet set);

}  // namespace annulus
