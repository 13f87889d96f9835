// What a plan adds for sums of squares: how far pixels are from the mean of their bin (docs/numerics.md).
//
// A pixel's value is x = s / n. s is its count less its dark, an integer in units of 2^-(fraction_bits of the
// frame + dark_shift). n is its divisor: its normalisation, rounded to integers of 22 bits. With the squares
// q of weights, in units of 2^-square_bits, the spread of a bin about its mean m is
//
//   sum q (s - m n)^2 = sum q s^2 - 2 m sum q s n + m^2 sum q n^2
//
// three sums of integers that do not know m.
#pragma once

#include <annulus/core/shared_array.hpp>
#include <annulus/plan/fixed_point.hpp>
#include <annulus/plan/plan.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace annulus {

constexpr int kDivisorBits = 22;
constexpr int kMaxSquareBits = 30;  // so that a square is a signed number of 32 bits

// Squares of a bin add up to no more, so that backends may add products with numbers of 22 bits in 64.
constexpr int kSquareSumBits = 41;

// Of darks that are not whole counts.
constexpr int kDarkFractionBits = 6;

// |s| is at most 2^kValueBits: counts of 32 bits, kDarkFractionBits finer, and a dark of as many bits.
constexpr int kValueBits = 39;

struct SpreadTable {
  int divisor_bits = 0;  // n is in units of 2^-divisor_bits
  int square_bits = 0;   // 0 if no pixel is shared among bins: then every square is 1
  int dark_shift = 0;

  SharedArray<std::uint32_t> divisor;  // per pixel, 1 to 2^22 - 1; 0 where the plan has no weights

  // Per bin, of all pixels of the plan: sum of q n^2, as words like those of Sums.
  std::vector<std::int64_t> squares;
  std::vector<std::int64_t> squares_word1;

  bool is_whole() const { return square_bits == 0; }

  // q of a weight.
  std::uint32_t square(std::uint32_t weight, int weight_bits) const {
    return squared_weight(weight, weight_bits, square_bits);
  }
};

// Throws kPlan for a plan with a pixel whose normalisation is not positive: its value has no meaning.
std::shared_ptr<const SpreadTable> make_spread_table(const Plan& plan);

// The same plan with its table.
std::shared_ptr<const Plan> with_spread_table(std::shared_ptr<const Plan> plan);

// s of a raw value, for frames with so many fraction bits.
class DarkRemover {
 public:
  DarkRemover(const Plan& plan, int fraction_bits);

  std::int64_t dark(std::size_t pixel) const;
  std::int64_t value(std::size_t pixel, std::int64_t raw) const {
    return raw * (std::int64_t{1} << shift_) - dark(pixel);
  }
  int shift() const { return shift_; }

 private:
  const SharedArray<std::int32_t>* dark_;  // empty without a dark
  int shift_ = 0;
  int finer_ = 0;  // bits by which s is finer than the plan's dark; may be negative
};

}  // namespace annulus
