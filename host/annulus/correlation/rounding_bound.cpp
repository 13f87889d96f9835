#include <annulus/correlation/rounding_bound.hpp>

#include <cmath>
#include <limits>

namespace annulus {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;  // of rounding to nearest

// In units of rounding, of a transform by factors: 6 for each factor of 2, more for others, and once more 6
// for the step between complex and real transforms.
double transform_error(std::size_t angles) {
  double error = 6;
  std::size_t left = angles;
  for (std::size_t factor = 2; left > 1; ++factor) {
    if (factor * factor > left) factor = left;
    for (; left % factor == 0; left /= factor) {
      const auto p = static_cast<double>(factor);
      error += factor == 2 ? 6 : std::sqrt(p) * (p / 2 + 6) + 4;
    }
  }
  return error;
}

}  // namespace

RoundingBound::RoundingBound(std::size_t angles) : transform_(transform_error(angles) * kUnit) {}

double RoundingBound::error(std::uint64_t energy, std::uint64_t images) const {
  const double terms = 2 * static_cast<double>(images) * kUnit;
  const double products = std::sqrt(2.0) * terms / (1 - terms);
  const double scaling = 2 * kUnit;
  // Products of errors are below a thousandth of the errors, as is the rounding of this line.
  return 1.01 * static_cast<double>(energy) * (3 * transform_ + products + scaling);
}

}  // namespace annulus
