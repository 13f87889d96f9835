// What the integers of a frame are worth.
#pragma once

#include <annulus/plan/plan.hpp>

#include <cmath>

namespace annulus {

// Multiplies by 2^-bits, in two steps: the power alone may be beyond the doubles.
class PowerOfTwo {
 public:
  explicit PowerOfTwo(int bits)
      : first_(std::ldexp(1.0, -(bits / 2))), second_(std::ldexp(1.0, bits / 2 - bits)) {}
  double times(double value) const { return value * first_ * second_; }

 private:
  double first_, second_;
};

struct SumUnits {
  PowerOfTwo signal;
  PowerOfTwo variance;
  double dark;
  double normalization;

  SumUnits(const Plan& plan, int fraction_bits)
      : signal(plan.weight_bits + fraction_bits),
        variance(plan.variance_bits + fraction_bits),
        dark(std::ldexp(1.0, -(plan.weight_bits + plan.dark_bits))),
        normalization(std::ldexp(1.0, -(plan.weight_bits + plan.normalization_bits))) {}
};

}  // namespace annulus
