#include <tools/simulate/portable_math.hpp>

#include <cmath>

namespace annulus::portable {
namespace {

constexpr double kLn2High = 0x1.62e42feep-1;  // few enough bits that k * kLn2High is exact
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

}  // namespace

double exp(double x) {
  if (x < -700) return 0;
  const double k = std::floor(x / (kLn2High + kLn2Low) + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;  // |r| <= 0.35
  double sum = 1;
  for (int n = 14; n >= 1; --n) sum = 1 + sum * r / n;
  return std::ldexp(sum, static_cast<int>(k));
}

double log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 artanh((m - 1) / (m + 1)), whose argument is at most 0.172.
  const double s = (mantissa - 1) / (mantissa + 1);
  double sum = 0;
  for (int n = 23; n >= 1; n -= 2) sum = sum * (s * s) + 1.0 / n;
  return exponent * kLn2High + (2 * s * sum + exponent * kLn2Low);
}

SinCos sin_cos_turns(double turns) {
  // A quarter of the angle is at most pi / 4; two doublings bring the whole back.
  const double quarter = (turns - std::floor(turns + 0.5)) * (2 * kPi) / 4;
  const double square = quarter * quarter;
  double sine = 1;
  double versine = 1;  // 1 - cos, which keeps its digits for small angles
  for (int n = 9; n >= 1; --n) {
    sine = 1 - sine * square / (2 * n * (2 * n + 1));
    versine = 1 - versine * square / ((2 * n + 1) * (2 * n + 2));
  }
  sine *= quarter;
  versine *= square / 2;
  for (int doubling = 0; doubling < 2; ++doubling) {
    const double cosine = 1 - versine;
    versine = 2 * sine * sine;
    sine = 2 * sine * cosine;
  }
  return {sine, 1 - versine};
}

}  // namespace annulus::portable
