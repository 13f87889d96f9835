// The integers of one frame: what all backends must agree on, byte for byte (docs/numerics.md).
#pragma once

#include <annulus/plan/plan.hpp>

#include <cstdint>
#include <vector>

namespace annulus {

struct Accumulators {
  std::vector<std::int64_t> signal;  // sum of weight * raw over valid pixels
  std::vector<std::int64_t>
      variance;  // sum of squared_weight * max(raw, one count); empty without error model

  // What this frame's invalid pixels take from the plan's totals. Either all three are empty (every pixel of
  // the plan was valid) or all have one value a bin, but for dark, which is empty without a dark.
  std::vector<std::int64_t> missing_normalization;
  std::vector<std::int64_t> missing_dark;
  std::vector<std::int64_t> missing_count;

  std::uint64_t invalid_pixels = 0;  // pixels with weights in the plan that were not accepted
  int fraction_bits = 0;             // of the frame: signal is in units of 2^-(weight_bits + fraction_bits)

  bool operator==(const Accumulators&) const = default;
};

// Fills the missing sums from the plan's pixels that were invalid in a frame, in any order. Backends that can
// only list those pixels share this.
void subtract_invalid(const Plan& plan, const std::vector<std::uint32_t>& invalid_pixels, Accumulators& sums);

}  // namespace annulus
