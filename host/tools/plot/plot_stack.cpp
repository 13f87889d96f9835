#include <annulus/core/error.hpp>
#include <annulus/outputs/reader.hpp>

#include <tools/plot/colour_map.hpp>
#include <tools/plot/plot.hpp>
#include <tools/plot/plot_map.hpp>
#include <tools/plot/plot_parts.hpp>

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
  Canvas canvas = page_for(options, picture);
  const double em = canvas.em();
  Panel panel = map_panel(canvas);
  const auto frames = static_cast<double>(file.frames());
  const auto y_ticks = frame_ticks(frames, ticks_for(panel.top - panel.bottom, 5 * em));
  panel.left = (widest_label(y_ticks) + 3) * em;
  const MostCells most = most_cells(canvas, panel);
  const StackGrid grid = make_stack_grid(file, drawn_range(file.header(), options), most.rows, most.columns);
  draw_radial_map(canvas, panel, grid, file.header(), options,
                  {y_ticks, "Frame", title_of(file.path(), frame_count(file.frames()))});
  canvas.finish();
}

}  // namespace annulus
