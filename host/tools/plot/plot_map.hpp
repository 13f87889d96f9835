// A grid of values as a picture: what stacks and cakes have in common.
#pragma once

#include <tools/plot/canvas.hpp>
#include <tools/plot/stack_grid.hpp>

#include <string>
#include <vector>

namespace annulus {

struct MapWords {
  std::vector<Tick> y_ticks;
  std::string y_label;
  std::string title;  // unless the user has given one
};

// Where a map and the labels at its left and right fit; without coordinates.
Panel map_panel(const Canvas& canvas);

// Cells, axes, title and colour bar. Throws kUsage if the grid is empty.
void draw_map(Canvas& canvas, Panel panel, const StackGrid& grid, const OutputHeader& header,
              const PlotOptions& options, const MapWords& words);

}  // namespace annulus
