// A grid of values as a picture: what stacks, cakes and images have in common.
#pragma once

#include <tools/plot/canvas.hpp>
#include <tools/plot/colour_map.hpp>
#include <tools/plot/stack_grid.hpp>

#include <optional>
#include <string>
#include <vector>

namespace annulus {

struct MapWords {
  std::vector<Tick> x_ticks;
  std::vector<Tick> y_ticks;
  std::string x_label;
  std::string y_label;
  std::string values;  // beside the colour bar: what they are
};

// Cells, axes and colour bar in a panel. Without a contrast all is grey, and there is no bar.
void draw_map(Canvas& canvas, Panel panel, const StackGrid& grid, const std::optional<Contrast>& contrast,
              const MapWords& words);

// The panel of a picture that has no other, with room for the labels at its left and right; without
// coordinates.
Panel map_panel(const Canvas& canvas);

struct RadialMap {
  std::vector<Tick> y_ticks;
  std::string y_label;
  std::string title;  // unless the user has given one
};

// A stack or a cake in that panel, with its title. Throws kUsage if the grid is empty.
void draw_radial_map(Canvas& canvas, Panel panel, const StackGrid& grid, const OutputHeader& header,
                     const PlotOptions& options, const RadialMap& map);

}  // namespace annulus
