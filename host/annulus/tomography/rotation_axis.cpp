#include <annulus/core/error.hpp>
#include <annulus/tomography/rotation_axis.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

namespace annulus {
namespace {

constexpr double kFullTurn = 2 * std::numbers::pi;
constexpr double kMirrorWithin = 2 * std::numbers::pi / 180;
constexpr double kLeastCorrelation = 0.5;  // below, two projections do not show the same
constexpr double kLeastMass = 0.2;         // of the median: below, the centre of a projection says nothing
constexpr double kSignificant = 3;         // standard deviations

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::kInput, "the sinogram", "the axis of rotation cannot be found in it: " + why,
              "give its position with `axis`");
}

// The sum of all bins without its background, [angle][position].
struct Projections {
  std::size_t angles, positions;
  std::vector<double> values;

  const double* at(std::size_t angle) const { return values.data() + angle * positions; }
};

// The mean of the outermost positions, on the left and on the right, and a line between them.
void subtract_background(Projections& projections) {
  const std::size_t outermost = std::max<std::size_t>(1, projections.positions / 32);
  double left = 0, right = 0;
  for (std::size_t angle = 0; angle < projections.angles; ++angle) {
    const double* const value = projections.at(angle);
    for (std::size_t i = 0; i < outermost; ++i) {
      left += value[i];
      right += value[projections.positions - 1 - i];
    }
  }
  const auto count = static_cast<double>(outermost * projections.angles);
  left /= count;
  right /= count;
  for (std::size_t i = 0; i < projections.values.size(); ++i) {
    const double along =
        static_cast<double>(i % projections.positions) / static_cast<double>(projections.positions - 1);
    projections.values[i] -= left + (right - left) * along;
  }
}

Projections sum_bins(const SinogramView& sinogram) {
  Projections result{sinogram.angles, sinogram.positions,
                     std::vector<double>(sinogram.angles * sinogram.positions)};
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    const float* const cell = sinogram.values + i * sinogram.stride;
    result.values[i] = std::accumulate(cell, cell + sinogram.bins, 0.0);
  }
  const auto [least, most] = std::ranges::minmax(result.values);
  if (most - least <= 1e-6 * std::max(std::abs(least), std::abs(most))) refuse("it is the same everywhere");
  subtract_background(result);
  return result;
}

// The two angles that are closest to half a turn apart.
struct Pair {
  std::size_t first, second;
  double off;
};

Pair opposite_pair(std::span<const double> angles) {
  const auto in_turn = [](double angle) {
    const double rest = std::fmod(angle, kFullTurn);
    return rest < 0 ? rest + kFullTurn : rest;
  };
  std::vector<std::pair<double, std::size_t>> sorted;
  for (std::size_t i = 0; i < angles.size(); ++i) sorted.emplace_back(in_turn(angles[i]), i);
  std::ranges::sort(sorted);
  Pair best{0, 0, kFullTurn};
  for (const auto& [angle, index] : sorted) {
    const double wanted = in_turn(angle + kFullTurn / 2);
    const auto above = std::ranges::lower_bound(sorted, std::pair{wanted, std::size_t{0}});
    for (const auto& candidate : {above == sorted.end() ? sorted.front() : *above,
                                  above == sorted.begin() ? sorted.back() : *std::prev(above)}) {
      const double difference = std::abs(candidate.first - wanted);
      const double off = std::min(difference, kFullTurn - difference);
      if (off < best.off) best = {std::min(index, candidate.second), std::max(index, candidate.second), off};
    }
  }
  return best;
}

// sum over k of first[k] x second[shift - k]
double mirrored_product(const Projections& projections, const Pair& pair, std::ptrdiff_t shift) {
  const auto last = static_cast<std::ptrdiff_t>(projections.positions) - 1;
  const double *first = projections.at(pair.first), *second = projections.at(pair.second);
  double sum = 0;
  for (std::ptrdiff_t k = std::max<std::ptrdiff_t>(0, shift - last); k <= std::min(last, shift); ++k) {
    sum += first[k] * second[shift - k];
  }
  return sum;
}

double sum_of_squares(const double* values, std::size_t count) {
  return std::inner_product(values, values + count, values, 0.0);
}

// The deviation |first|^2 + |second|^2 - 2 sum first[k] second[shift - k] is least where the product is
// largest; its place between whole shifts is that of a parabola. Shifts are twice the position of the axis.
std::optional<AxisEstimate> axis_from_pair(const Projections& projections, std::span<const double> angles) {
  const Pair pair = opposite_pair(angles);
  if (pair.off > kMirrorWithin) return std::nullopt;
  const auto last = static_cast<std::ptrdiff_t>(projections.positions) - 1;
  std::ptrdiff_t best = 1;
  double largest = 0;
  for (std::ptrdiff_t shift = 1; shift < 2 * last; ++shift) {
    const double product = mirrored_product(projections, pair, shift);
    if (product > largest) {
      largest = product;
      best = shift;
    }
  }
  const double* const second = projections.at(pair.second);
  const double squares = sum_of_squares(projections.at(pair.first), projections.positions) +
                         sum_of_squares(second, projections.positions);
  if (!(2 * largest > kLeastCorrelation * squares)) return std::nullopt;
  const double before = mirrored_product(projections, pair, best - 1);
  const double after = mirrored_product(projections, pair, best + 1);
  const double curvature = before - 2 * largest + after;
  const double offset = curvature < 0 ? std::clamp((before - after) / (2 * curvature), -0.5, 0.5) : 0;
  // Least squares: the variance of a value over the sum of squared derivatives by the position of the axis.
  double slopes = 0;
  for (std::ptrdiff_t k = 1; k < last; ++k) slopes += std::pow(second[k + 1] - second[k - 1], 2);
  const double at_best = largest - (before - after) * offset / 4;
  const double deviation = std::max(0.0, squares - 2 * at_best) / static_cast<double>(last);
  return AxisEstimate{(static_cast<double>(best) + offset) / 2, std::sqrt(deviation / slopes)};
}

// Solves a symmetric system of three equations and inverts its matrix: Gauss and Jordan. False if it is
// singular.
bool invert(std::array<std::array<double, 3>, 3> matrix, std::array<std::array<double, 3>, 3>& inverse) {
  inverse = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto pivot = std::ranges::max_element(matrix.begin() + static_cast<std::ptrdiff_t>(i), matrix.end(),
                                                {}, [&](const auto& row) { return std::abs(row[i]); });
    const auto at = static_cast<std::size_t>(pivot - matrix.begin());
    if (!(std::abs(matrix[at][i]) > 1e-9)) return false;
    std::swap(matrix[i], matrix[at]);
    std::swap(inverse[i], inverse[at]);
    const double scale = matrix[i][i];
    for (std::size_t k = 0; k < 3; ++k) {
      matrix[i][k] /= scale;
      inverse[i][k] /= scale;
    }
    for (std::size_t j = 0; j < 3; ++j) {
      if (j == i) continue;
      const double factor = matrix[j][i];
      for (std::size_t k = 0; k < 3; ++k) {
        matrix[j][k] -= factor * matrix[i][k];
        inverse[j][k] -= factor * inverse[i][k];
      }
    }
  }
  return true;
}

// Empty if a projection has too little mass.
std::vector<double> centres_of_mass(const Projections& projections) {
  std::vector<double> centres(projections.angles), masses(projections.angles);
  for (std::size_t angle = 0; angle < projections.angles; ++angle) {
    double moment = 0;
    for (std::size_t k = 0; k < projections.positions; ++k) {
      masses[angle] += projections.at(angle)[k];
      moment += projections.at(angle)[k] * static_cast<double>(k);
    }
    centres[angle] = moment / masses[angle];
  }
  std::vector<double> sorted = masses;
  std::ranges::sort(sorted);
  const double median = sorted[sorted.size() / 2];
  if (!(median > 0 && sorted.front() > kLeastMass * median)) return {};
  return centres;
}

// centre of mass = axis + A cos + B sin, by least squares.
std::optional<AxisEstimate> axis_from_masses(const Projections& projections, std::span<const double> angles) {
  const std::vector<double> centres = centres_of_mass(projections);
  if (centres.size() < 4) return std::nullopt;
  std::array<std::array<double, 3>, 3> matrix{}, inverse{};
  std::array<double, 3> right{};
  for (std::size_t i = 0; i < centres.size(); ++i) {
    const std::array<double, 3> terms = {1, std::cos(angles[i]), std::sin(angles[i])};
    for (std::size_t row = 0; row < 3; ++row) {
      right[row] += terms[row] * centres[i];
      for (std::size_t column = 0; column < 3; ++column) matrix[row][column] += terms[row] * terms[column];
    }
  }
  if (!invert(matrix, inverse)) return std::nullopt;
  std::array<double, 3> found{};
  for (std::size_t row = 0; row < 3; ++row) {
    found[row] = std::inner_product(right.begin(), right.end(), inverse[row].begin(), 0.0);
  }
  double squares = 0;
  for (std::size_t i = 0; i < centres.size(); ++i) {
    squares +=
        std::pow(centres[i] - found[0] - found[1] * std::cos(angles[i]) - found[2] * std::sin(angles[i]), 2);
  }
  const double variance = squares / static_cast<double>(centres.size() - 3);
  return AxisEstimate{found[0], std::sqrt(variance * inverse[0][0])};
}

}  // namespace

RotationAxis find_rotation_axis(const SinogramView& sinogram, std::span<const double> angles) {
  const ScanGeometry scan{{angles.begin(), angles.end()}, sinogram.positions, 0};
  scan.check();
  if (sinogram.angles != angles.size() || sinogram.bins == 0) {
    throw Error(ErrorKind::kInput, "the sinogram",
                fmt::format("it has {} angles and {} bins, the scan {} angles", sinogram.angles,
                            sinogram.bins, angles.size()));
  }
  check_finite(sinogram);
  const Projections projections = sum_bins(sinogram);
  RotationAxis result{};
  result.from_pair = axis_from_pair(projections, angles);
  result.from_sinogram = axis_from_masses(projections, angles);
  if (!result.from_pair && !result.from_sinogram) {
    refuse(
        "no two projections are mirror images of each other, and their centres of mass follow no rotation");
  }
  result.best = result.from_sinogram ? *result.from_sinogram : *result.from_pair;
  if (result.from_pair && result.from_sinogram) {
    if (result.from_pair->uncertainty < result.from_sinogram->uncertainty) result.best = *result.from_pair;
    const double difference = std::abs(result.from_pair->position - result.from_sinogram->position);
    if (difference >
        kSignificant * std::hypot(result.from_pair->uncertainty, result.from_sinogram->uncertainty)) {
      result.best.uncertainty = difference;
    }
  }
  if (!(result.best.position >= 0 && result.best.position <= static_cast<double>(sinogram.positions - 1))) {
    refuse(fmt::format("it would be at {:.2f}, outside the scan", result.best.position));
  }
  if (result.best.uncertainty > 1) {
    refuse(
        fmt::format("{:.2f} steps are uncertain by {:.2f}", result.best.position, result.best.uncertainty));
  }
  return result;
}

}  // namespace annulus
