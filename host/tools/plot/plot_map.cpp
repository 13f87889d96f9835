#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/plot/colour_bar.hpp>
#include <tools/plot/plot_map.hpp>
#include <tools/plot/plot_parts.hpp>

#include <algorithm>

namespace annulus {
namespace {

// How wide the numbers of the colour bar are is known only with the grid, which the panel was made for. In a
// tiny picture half of the panel stays.
void make_room_for_colour_bar(const Canvas& canvas, const Contrast& contrast, Panel& panel) {
  const double room = colour_bar_room(ColourBar(panel, contrast, canvas.em()).ticks) * canvas.em();
  panel.right = std::max(canvas.width() - room, (panel.left + panel.right) / 2);
}

}  // namespace

Panel map_panel(const Canvas& canvas) {
  const double em = canvas.em();
  return {0, canvas.width() - kUsualColourBarRoom * em, 4.2 * em, canvas.height() - 2.6 * em, 0, 1, 0, 1};
}

void draw_map(Canvas& canvas, Panel panel, const StackGrid& grid, const std::optional<Contrast>& contrast,
              const MapWords& words) {
  panel.x_low = grid.x_edges.front();
  panel.x_high = grid.x_edges.back();
  panel.y_low = grid.y_edges.front();
  panel.y_high = grid.y_edges.back();
  if (contrast) {
    draw_colour_bar(canvas, ColourBar(panel, *contrast, canvas.em()), words.values);
  }
  canvas.begin_panel(panel);
  draw_cells(canvas, grid, contrast, panel);
  canvas.frame();
  canvas.x_axis(words.x_ticks, words.x_label);
  canvas.y_axis(words.y_ticks, words.y_label);
}

void draw_radial_map(Canvas& canvas, Panel panel, const StackGrid& grid, const OutputHeader& header,
                     const PlotOptions& options, const RadialMap& map) {
  if (grid.columns == 0) {
    throw Error(ErrorKind::kUsage, "`radial_range`", "no bin of the file lies in it",
                fmt::format("choose within {} to {}", header.radial().centres.front(),
                            header.radial().centres.back()));
  }
  const Contrast contrast(grid, options.scale);
  make_room_for_colour_bar(canvas, contrast, panel);
  const int x_ticks = ticks_for(panel.right - panel.left, 8 * canvas.em());
  draw_map(canvas, panel, grid, contrast,
           {linear_ticks(grid.x_edges.front(), grid.x_edges.back(), x_ticks), map.y_ticks,
            label_of(header.radial()), map.y_label, "Intensity (arb. units)"});
  draw_title(canvas, options, map.title);
}

}  // namespace annulus
