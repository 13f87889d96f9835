#include <annulus/core/error.hpp>
#include <annulus/outputs/colour_map.hpp>
#include <annulus/outputs/frame_words.hpp>
#include <annulus/outputs/plot.hpp>
#include <annulus/outputs/plot_parts.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace annulus {
namespace {

// Frames are whole things: no ticks between them.
std::vector<Tick> frame_ticks(double frames, int wanted) {
  std::vector<Tick> ticks = linear_ticks(0, frames - 1, wanted);
  if (frames == 1) ticks = {{0, "0"}};
  std::erase_if(ticks, [](const Tick& tick) { return tick.at != std::floor(tick.at); });
  return ticks;
}

}  // namespace

void plot_stack(const PatternFile& file, const PlotOptions& options, const std::filesystem::path& picture) {
  if (file.frames() == 0) throw Error(ErrorKind::kInput, picture.string(), "there are no frames to draw yet");
  Canvas canvas(picture, options.width, options.height);
  const double em = canvas.em();
  Panel panel{0, canvas.width() - kColourBarRoom * em, 4.2 * em, canvas.height() - 2.6 * em, 0, 1, 0, 1};
  const auto frames = static_cast<double>(file.frames());
  const auto y_ticks = frame_ticks(frames, ticks_for(panel.top - panel.bottom, 5 * em));
  panel.left = (widest_label(y_ticks) + 3) * em;
  const MostCells most = most_cells(canvas, panel);
  const StackGrid grid = make_stack_grid(file, drawn_range(file.header(), options), most.rows, most.columns);
  if (grid.columns == 0) {
    throw Error(ErrorKind::kUsage, "--radial-range", "no bin of the file lies in it",
                fmt::format("choose within {} to {}", file.header().axis.front(), file.header().axis.back()));
  }
  const Contrast contrast(grid, options.scale);
  panel.x_low = grid.x_edges.front();
  panel.x_high = grid.x_edges.back();
  panel.y_low = grid.y_edges.front();
  panel.y_high = grid.y_edges.back();
  canvas.begin_panel(panel);
  draw_cells(canvas, grid, contrast, panel);
  canvas.frame();
  canvas.x_axis(linear_ticks(panel.x_low, panel.x_high, ticks_for(panel.right - panel.left, 8 * em)),
                file.header().axis_label);
  canvas.y_axis(y_ticks, "Frame");
  draw_title(canvas, options, title_of(file.path(), frame_count(file.frames())));
  draw_colour_bar(canvas, panel, contrast);
  canvas.finish();
}

}  // namespace annulus
