// The choice of fixed point, and the proof that sums cannot overflow (docs/numerics.md).
#pragma once

#include <cstdint>
#include <vector>

namespace annulus {

struct Share;  // splitting.hpp

constexpr int kMaxWeightBits = 23;  // a weight of 2^23 fits the kernels' 24-bit fields
constexpr int kMinWeightBits = 0;   // shares of 0 and 1, enough for bins that share no pixels
// With fewer, shares may be coarser than counting statistics: the plan looks at what that does to every bin.
constexpr int kSureWeightBits = 12;

// Every accumulator is a sum of weight * value. It stays below 2^63 for all values up to max_value if
// 2^bits * pixels_in_bin * max_value does. Returns the largest bits <= kMaxWeightBits for which that holds;
// pixels_in_bin is an upper bound of the largest bin's count. The result may be too many if it is 0.
int safe_weight_bits(std::uint64_t pixels_in_bin, std::int64_t max_value);

// The largest bits (may be negative) so that values up to `largest` become integers of at most 2^30 and no
// sum of weight * value over a bin reaches 2^63. No bin's weights add up to more than `largest_count`, nor
// its weights times the magnitudes of its values to more than `largest_sum`.
int safe_value_bits(double largest, double largest_sum, std::int64_t largest_count);

// Shares to integers that add up to exactly 2^bits: each is rounded, and the residue goes to the largest, one
// unit each (with up to three bins a pixel that is one unit to the largest).
// Entries that round to 0 are dropped. `weights` is parallel to what is left of `shares`.
// Throws std::logic_error if the shares do not sum to 1, but for what rounding explains.
void quantise_shares(std::vector<Share>& shares, int bits, std::vector<std::uint32_t>& weights);

constexpr int kMaxVarianceBits = 31;  // so that a squared weight fits 32 bits in a kernel

// The variance coefficient of a weight: its square in units of 2^-variance_bits, rounded, and at least one
// unit, so that a bin which has only slivers of pixels never gets an error of 0. variance_bits <= 2 *
// weight_bits.
constexpr std::uint32_t squared_weight(std::uint32_t weight, int weight_bits, int variance_bits) {
  const int shift = 2 * weight_bits - variance_bits;
  const std::uint64_t half = shift > 0 ? std::uint64_t{1} << (shift - 1) : 0;
  const std::uint64_t square = (std::uint64_t{weight} * weight + half) >> shift;
  return square > 0 ? static_cast<std::uint32_t>(square) : 1u;
}
static_assert(2 * (kMaxWeightBits + 1) < 64, "the square of a weight and its rounding fit 64 bits");
static_assert(kMaxVarianceBits < 32, "a squared weight fits 32 bits");
static_assert(kMaxVarianceBits <= 2 * kMaxWeightBits);

}  // namespace annulus
