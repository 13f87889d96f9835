// A grid of values drawn as colours.
#pragma once

#include <tools/plot/canvas.hpp>
#include <tools/plot/stack_grid.hpp>

#include <optional>
#include <vector>

namespace annulus {

// Whether there is a value that has a colour: a number and, on a scale of logarithms, a positive one.
bool can_be_shown(const StackGrid& grid, PlotScale scale);

// Values to levels of colour: linear, or with the low ones spread. Throws kInput if no value can be shown.
class Contrast {
 public:
  static constexpr int kLevels = 256;
  static constexpr int kNoValue = -1;

  Contrast(const StackGrid& grid, PlotScale scale);
  // Of these values only, such as those that have no outliers, though all of the grid are drawn.
  Contrast(const StackGrid& grid, PlotScale scale, std::vector<double> decisive);

  // Zero in the middle, and as far to both sides; linear, or with low values spread.
  static Contrast around_zero(const StackGrid& grid, PlotScale scale, std::vector<double> decisive);

  Colour colour(int level) const;
  double position(double value) const;  // on the colour bar, which goes from 0 to 1
  int level(double value) const;        // 0 to kLevels - 1, or kNoValue for NaN
  std::vector<Tick> ticks(int wanted) const;

  // Whether there are values beyond the ends of the bar, which have the colours of the ends.
  bool values_below() const { return values_below_; }
  bool values_above() const { return values_above_; }

 private:
  Contrast() = default;
  void find_values_beyond(const StackGrid& grid);

  PlotScale scale_ = PlotScale::kLinear;
  bool around_zero_ = false;
  bool values_below_ = false;
  bool values_above_ = false;
  double low_ = 0;
  double high_ = 1;
};

// What there is room for in a panel, or in a vector file.
struct MostCells {
  std::size_t rows;
  std::size_t columns;
};
MostCells most_cells(const Canvas& canvas, const Panel& panel, std::size_t panels = 1);

// Cells without a value are grey, which is none of the colours; without a contrast, all of them.
void draw_cells(Canvas& canvas, const StackGrid& grid, const std::optional<Contrast>& contrast,
                const Panel& panel);

}  // namespace annulus
