#include <annulus/tomography/gridding_kernel.hpp>

#include <cmath>
#include <numbers>

namespace annulus {
namespace {

// What makes the error least lies a little below what makes the spectrum vanish just where it is folded back.
constexpr double kBelow = 0.976;

constexpr std::size_t kPanels = 400;  // of the integral: more change no digit of a float

}  // namespace

GriddingKernel::GriddingKernel(std::size_t width, double oversampling)
    : width_(static_cast<double>(width)),
      exponent_(kBelow * std::numbers::pi * width_ * (1 - 1 / (2 * oversampling))) {}

double GriddingKernel::value(double u) const {
  const double part = 2 * u / width_, rest = 1 - part * part;
  return rest > 0 ? std::exp(exponent_ * (std::sqrt(rest) - 1)) : 0;
}

double GriddingKernel::spectrum(double f) const {
  // u = width / 2 sin(v): smooth at the ends, where the semicircle is not.
  double sum = 0;
  for (std::size_t i = 0; i < kPanels; ++i) {
    const double v = std::numbers::pi * ((static_cast<double>(i) + 0.5) / kPanels - 0.5);
    const double u = width_ / 2 * std::sin(v);
    sum += std::exp(exponent_ * (std::cos(v) - 1)) * std::cos(2 * std::numbers::pi * u * f) * std::cos(v);
  }
  return sum * width_ / 2 * std::numbers::pi / kPanels;
}

std::vector<float> GriddingKernel::table() const {
  const auto width = static_cast<std::size_t>(width_);
  std::vector<float> values;
  for (std::size_t step = 0; step <= kSteps; ++step) {
    const double part = static_cast<double>(step) / kSteps;
    for (std::size_t point = 0; point < width; ++point) {
      const double first = 1 - width_ / 2;  // from the point before the place
      values.push_back(static_cast<float>(value(part - first - static_cast<double>(point))));
    }
  }
  return values;
}

}  // namespace annulus
