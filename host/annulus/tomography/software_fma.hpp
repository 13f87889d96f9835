// a * b + c, rounded once, on processors that have no instruction for it. The C library's own fmaf gives the
// same and takes ten times as long, since it is called for each number.
#pragma once

#include <bit>
#include <cstdint>

namespace annulus {

// The product of two floats is exact as a double. The sum is rounded to odd (the last bit is 1 if anything
// was lost), so that rounding it again, to a float, cannot go wrong.
inline float software_fma(float a, float b, float c) {
  const double product = static_cast<double>(a) * b, addend = c;
  const double sum = product + addend;
  const double back = sum - product;
  const double lost = (product - (sum - back)) + (addend - back);  // exact
  auto bits = std::bit_cast<std::uint64_t>(sum);
  const std::uint64_t even = ~bits & 1U;
  const bool away = (lost > 0) == (sum > 0);  // from zero: the truth is beyond the sum
  const std::uint64_t step = away ? even : 0 - even;
  bits += lost < 0 || lost > 0 ? step : 0;  // what is not finite has lost NaN
  return static_cast<float>(std::bit_cast<double>(bits));
}

}  // namespace annulus
