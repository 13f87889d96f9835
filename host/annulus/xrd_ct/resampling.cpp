#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/tomography/angle_weights.hpp>
#include <annulus/xrd_ct/resampling.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace annulus {
namespace {

// In steps: a position has its own value if one was measured as near as that, or if its neighbours are no
// further apart than that.
constexpr double kNearby = 0.5, kApart = 1.5;

// The columns that have a value.
std::vector<std::uint32_t> known_columns(std::span<const double> totals) {
  std::vector<std::uint32_t> known;
  for (std::size_t col = 0; col < totals.size(); ++col) {
    if (!std::isnan(totals[col])) known.push_back(static_cast<std::uint32_t>(col));
  }
  return known;
}

// How many have a value at any angle.
double measured_columns(const ScanGrid& grid, std::span<const double> totals) {
  std::vector<std::uint8_t> measured(grid.cols());
  for (std::size_t cell = 0; cell < totals.size(); ++cell)
    measured[cell % grid.cols()] |= static_cast<std::uint8_t>(!std::isnan(totals[cell]));
  return static_cast<double>(std::ranges::count(measured, 1));
}

}  // namespace

Resampling::Resampling(const MeasuredScan& scan, std::span<const double> totals) {
  const ScanGrid& grid = scan.grid;
  const double positions = measured_columns(grid, totals);
  std::vector<double> angles;
  for (std::size_t row = 0; row < grid.rows(); ++row) {
    if (row == scan.unfinished_row) continue;
    const std::vector<std::uint32_t> known = known_columns(totals.subspan(row * grid.cols(), grid.cols()));
    if (known.empty() || static_cast<double>(known.size()) < kLeastMeasured * positions) {
      ++left_out_;
      continue;
    }
    rows_.push_back(row);
    angles.push_back(scan.angle.positions[row] * std::numbers::pi / 180);
    without_value_ += grid.cols() - known.size();
    const bool as_measured = known.size() == grid.cols() && !scan.is_uneven();
    neighbours_.push_back(as_measured ? std::vector<Neighbours>() : neighbours_in(scan, row, known));
  }
  if (count_directions(angles) >= 2) return;
  throw Error(
      ErrorKind::kInput, "the scan",
      fmt::format("{} of its {} projections have values at half of their positions or more, of {}",
                  rows_.size(), grid.rows(), rows_.empty() ? "no direction" : "a single direction"),
      "a tomogram needs projections from several directions: are the columns those of the rotation and "
      "the translation?");
}

std::vector<Resampling::Neighbours> Resampling::neighbours_in(const MeasuredScan& scan, std::size_t row,
                                                              const std::vector<std::uint32_t>& known) const {
  const std::size_t columns = scan.grid.cols();
  const auto place = [&](std::uint32_t col) {
    return scan.is_uneven() ? scan.places[row * columns + col] : static_cast<double>(col);
  };
  std::vector<Neighbours> result;
  for (std::size_t col = 0; col < columns; ++col) {
    const auto wanted = static_cast<double>(col);
    const auto right = std::ranges::lower_bound(known, wanted, {}, place);
    if (right == known.begin() || right == known.end()) {
      const std::uint32_t outermost = right == known.end() ? known.back() : known.front();
      result.push_back({outermost, outermost, 0, std::abs(place(outermost) - wanted) > kNearby});
    } else {
      const std::uint32_t left = *std::prev(right);
      const double before = wanted - place(left), after = place(*right) - wanted;
      const bool made_up = std::min(before, after) > kNearby && before + after > kApart;
      result.push_back({left, *right, before / (before + after), made_up});
    }
  }
  return result;
}

void Resampling::apply(Sinogram& sinogram, unsigned threads, Gaps gaps) const {
  const std::size_t bins = sinogram.bins, row_values = sinogram.positions * bins;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i] != i) std::copy_n(sinogram.at(rows_[i], 0), row_values, sinogram.at(i, 0));
  }
  sinogram.angles = rows_.size();
  sinogram.values.resize(rows_.size() * row_values);
  parallel_ranges(rows_.size(), threads, [&](std::size_t begin, std::size_t end) {
    std::vector<float> measured;
    for (std::size_t row = begin; row < end; ++row) {
      if (neighbours_[row].empty()) continue;
      float* const cells = sinogram.at(row, 0);
      measured.assign(cells, cells + row_values);
      for (std::size_t col = 0; col < sinogram.positions; ++col) {
        const Neighbours& from = neighbours_[row][col];
        const float* const left = measured.data() + from.left * bins;
        const float* const right = measured.data() + from.right * bins;
        float* const cell = cells + col * bins;
        if (from.made_up && gaps == Gaps::kLeave) {
          std::fill_n(cell, bins, std::numeric_limits<float>::quiet_NaN());
          continue;
        }
        // A share of 0 or 1 takes the value as it is, whatever the other one is.
        if (from.part <= 0 || from.part >= 1) {
          std::copy_n(from.part <= 0 ? left : right, bins, cell);
          continue;
        }
        for (std::size_t bin = 0; bin < bins; ++bin)
          cell[bin] =
              static_cast<float>(left[bin] + (static_cast<double>(right[bin]) - left[bin]) * from.part);
      }
    }
  });
}

}  // namespace annulus
