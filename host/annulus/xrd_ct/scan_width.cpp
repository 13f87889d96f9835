#include <annulus/xrd_ct/scan_width.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace annulus {
namespace {

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Standard deviation of what changes from one value to the next, robustly.
double noise_of(const std::vector<double>& values) {
  std::vector<double> jumps;
  for (std::size_t i = 1; i < values.size(); ++i) jumps.push_back(std::abs(values[i] - values[i - 1]));
  constexpr double kDeviationsPerMedian = 1.4826;
  return kDeviationsPerMedian * median_of(jumps) / std::numbers::sqrt2;
}

// Of medians of three, which no single value can move.
double range_of(const std::vector<double>& values) {
  std::vector<double> smooth;
  for (std::size_t i = 1; i + 1 < values.size(); ++i)
    smooth.push_back(median_of({values[i - 1], values[i], values[i + 1]}));
  const auto [least, most] = std::ranges::minmax(smooth);
  return most - least;
}

}  // namespace

LeavesScan sample_leaves_scan(const Sinogram& totals) {
  if (totals.angles < kEdgeAngles) return {};
  std::vector<double> left, right, highest;
  for (std::size_t angle = 0; angle < totals.angles; ++angle) {
    const float* const cells = totals.at(angle, 0);
    double mean = 0;
    for (std::size_t i = 0; i < totals.positions; ++i) mean += cells[i];
    mean /= static_cast<double>(totals.positions);
    if (!(mean > 0)) return {};
    left.push_back(cells[0] / mean);
    right.push_back(cells[totals.positions - 1] / mean);
    highest.push_back(*std::max_element(cells, cells + totals.positions) / mean);
  }
  const double contrast = median_of(highest) - std::min(median_of(left), median_of(right));
  const auto changes = [&](const std::vector<double>& edge) {
    const double range = range_of(edge);
    return range > kEdgeContrast * contrast && range > kEdgeNoise * noise_of(edge);
  };
  return {changes(left), changes(right)};
}

}  // namespace annulus
