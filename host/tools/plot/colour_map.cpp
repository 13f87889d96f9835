#include <annulus/core/error.hpp>

#include <tools/plot/colour_map.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace annulus {
namespace {

constexpr Colour kNeutral{208, 208, 208};
constexpr std::size_t kMostVectorCells = 240;    // a side, in an SVG: every cell is an element of the file
constexpr std::size_t kFewestVectorCells = 100;  // however many panels share the file
// Hot pixels and the beam stop's rim would otherwise take the whole scale.
constexpr double kLowShare = 0.01;
constexpr double kHighShare = 0.995;

}  // namespace

bool can_be_shown(const StackGrid& grid, PlotScale scale) {
  return std::ranges::any_of(
      grid.values, [scale](double v) { return std::isfinite(v) && (scale != PlotScale::kLog || v > 0); });
}

Contrast::Contrast(const StackGrid& grid, PlotScale scale) : Contrast(grid, scale, grid.values) {}

Contrast::Contrast(const StackGrid& grid, PlotScale scale, std::vector<double> values) : scale_(scale) {
  if (scale == PlotScale::kLog) {
    std::replace_if(
        values.begin(), values.end(), [](double v) { return !(v > 0); },
        std::numeric_limits<double>::quiet_NaN());
  }
  low_ = quantile(values, kLowShare);
  high_ = quantile(values, kHighShare);
  if (!std::isfinite(low_)) {
    throw Error(
        ErrorKind::kInput, "the patterns",
        scale == PlotScale::kLog ? "no value in the range is positive" : "no bin in the range has a value",
        "choose another range or scale");
  }
  if (!(high_ > low_)) high_ = low_ + std::max(1.0, std::abs(low_) * 1e-3);
  find_values_beyond(grid);
}

Contrast Contrast::around_zero(const StackGrid& grid, PlotScale scale, std::vector<double> decisive) {
  Contrast contrast;
  contrast.scale_ = scale;
  contrast.around_zero_ = true;
  for (double& value : decisive) value = std::abs(value);
  const double limit = quantile(decisive, kHighShare);
  contrast.high_ = limit > 0 ? limit : 1;
  contrast.low_ = -contrast.high_;
  contrast.find_values_beyond(grid);
  return contrast;
}

void Contrast::find_values_beyond(const StackGrid& grid) {
  values_below_ = std::ranges::any_of(grid.values, [this](double v) { return v < low_; });
  values_above_ = std::ranges::any_of(grid.values, [this](double v) { return v > high_; });
}

Colour Contrast::colour(int level) const {
  return around_zero_ ? two_sided_colour(level) : stack_colour(level);
}

double Contrast::position(double value) const {
  if (around_zero_) {
    const double share = std::clamp(std::abs(value) / high_, 0.0, 1.0);
    const double distance = scale_ == PlotScale::kSqrt ? std::sqrt(share) : share;
    return 0.5 + std::copysign(0.5 * distance, value);
  }
  if (scale_ == PlotScale::kLog) {
    return value > 0 ? std::log10(value / low_) / std::log10(high_ / low_) : 0;
  }
  const double share = std::clamp((value - low_) / (high_ - low_), 0.0, 1.0);
  return scale_ == PlotScale::kSqrt ? std::sqrt(share) : share;
}

int Contrast::level(double value) const {
  if (std::isnan(value)) return kNoValue;
  return static_cast<int>(std::lround(std::clamp(position(value), 0.0, 1.0) * (kLevels - 1)));
}

std::vector<Tick> Contrast::ticks(int wanted) const {
  if (scale_ == PlotScale::kLog) {
    const double low = std::log10(low_), high = std::log10(high_);
    std::vector<Tick> ticks = log_ticks(low, high, wanted);
    for (Tick& tick : ticks) tick.at = std::clamp((tick.at - low) / (high - low), 0.0, 1.0);
    return ticks;
  }
  std::vector<Tick> ticks = linear_ticks(low_, high_, wanted);
  for (Tick& tick : ticks) tick.at = position(tick.at);
  return ticks;
}

MostCells most_cells(const Canvas& canvas, const Panel& panel, std::size_t panels) {
  MostCells most{static_cast<std::size_t>(std::max(1.0, panel.top - panel.bottom)),
                 static_cast<std::size_t>(std::max(1.0, panel.right - panel.left))};
  if (canvas.is_vector()) {
    const auto share = std::sqrt(std::min(1.0, 2.0 / static_cast<double>(panels)));
    const auto side = std::max(kFewestVectorCells, static_cast<std::size_t>(share * kMostVectorCells));
    most.rows = std::min(most.rows, side);
    most.columns = std::min(most.columns, side);
  }
  return most;
}

// Neighbours of one colour become one rectangle. Each reaches one pixel into the next row and column, which
// are drawn over it: antialiased edges would otherwise let the paper shine through.
void draw_cells(Canvas& canvas, const StackGrid& grid, const std::optional<Contrast>& contrast,
                const Panel& panel) {
  const auto level_at = [&](std::size_t row, std::size_t column) {
    return contrast ? contrast->level(grid.at(row, column)) : Contrast::kNoValue;
  };
  const double pixel_x = (panel.x_high - panel.x_low) / (panel.right - panel.left);
  const double pixel_y = (panel.y_high - panel.y_low) / (panel.top - panel.bottom);
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (std::size_t begin = 0; begin < grid.columns;) {
      const int level = level_at(row, begin);
      std::size_t end = begin + 1;
      while (end < grid.columns && level_at(row, end) == level) ++end;
      canvas.rectangle(grid.x_edges[begin], std::min(grid.x_edges[end] + pixel_x, panel.x_high),
                       grid.y_edges[row], std::min(grid.y_edges[row + 1] + pixel_y, panel.y_high),
                       level == Contrast::kNoValue ? kNeutral : contrast->colour(level));
      begin = end;
    }
  }
}

}  // namespace annulus
