// Lines over an axis: how they are scaled, drawn and named.
#pragma once

#include <annulus/plan/integration_options.hpp>

#include <tools/plot/canvas.hpp>
#include <tools/plot/plot.hpp>

#include <optional>
#include <string>
#include <vector>

namespace annulus {

inline constexpr Colour kBlue{31, 119, 180};

struct Curve {
  std::string title;
  std::string legend;
  std::vector<double> values;  // NaN: a gap
  std::vector<double> errors;  // may be empty
  Colour colour = kBlue;
};

// From the lowest to the highest value within x, as `scale` has them, with a margin; down to zero where that
// costs little. Nothing if there is none.
std::optional<Range> value_range(const std::vector<Curve>& curves, const std::vector<double>& axis, Range x,
                                 PlotScale scale);
std::vector<Tick> value_ticks(Range y, PlotScale scale, int wanted);

// In the current panel.
void draw_line(Canvas& canvas, const Curve& curve, const std::vector<double>& axis, PlotScale scale);
// The errors around it; where they reach below what has a place on the scale, down to `floor`.
void draw_band(Canvas& canvas, const Curve& curve, const std::vector<double>& axis, PlotScale scale,
               double floor);
// In a corner of the panel, if there are several curves; if they are too many, of the first and the last.
void draw_legend(Canvas& canvas, const Panel& panel, const std::vector<Curve>& curves);

}  // namespace annulus
