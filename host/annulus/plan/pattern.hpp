// The diffraction pattern of one frame, in the user's units.
#pragma once

#include <annulus/plan/sums.hpp>

#include <vector>

namespace annulus {

struct Pattern {
  std::vector<double> intensity;  // NaN where no pixel contributes
  std::vector<double> error;      // standard error; empty without error model
};

// (S - D) / (N * factor) and sqrt(V) / (N * factor), once, in double: the only floating point of the way. The
// factor is the frame's: what a monitor counted, for example.
Pattern normalise(const Plan& plan, const Sums& sums, double factor = 1);

}  // namespace annulus
