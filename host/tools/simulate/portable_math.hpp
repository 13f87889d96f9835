// Elementary functions from +, -, *, / alone, which IEEE 754 rounds alike everywhere: libraries differ in
// the last bit of exp and log, and a simulated scan must have the same bytes on every machine.
// Accurate to a few units in the last place of the larger of |result| and 1.
#pragma once

namespace annulus::portable {

double exp(double x);  // 0 below -700; x up to 700
double log(double x);  // x > 0 and normal

// The angle in turns of 2 pi.
struct SinCos {
  double sin;
  double cos;
};
SinCos sin_cos_turns(double turns);

inline constexpr double kPi = 3.14159265358979323846;

}  // namespace annulus::portable
