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

  // Where the sum of a lane is among the `lanes` sums of a bin.
  std::size_t place_of(std::size_t lane) const { return lane % 2 * (lanes / 2) + lane / 2; }
};

const LaneKernels& lane_kernels(InstructionSet set);

// The same for a single frame.
const LaneKernels& single_lane_kernels(InstructionSet set);

}  // namespace annulus
