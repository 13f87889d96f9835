#include <annulus/core/error.hpp>
#include <annulus/outputs/canvas.hpp>
#include <annulus/outputs/plot.hpp>
#include <annulus/outputs/stack_grid.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace annulus {
namespace {

constexpr int kLevels = 256;
constexpr int kNoValue = -1;
constexpr Colour kNeutral{208, 208, 208};
constexpr std::size_t kMostVectorCells = 240;  // a side, in an SVG: every cell is an element of the file
// Hot pixels and the beam stop's rim would otherwise take the whole scale.
constexpr double kLowShare = 0.01;
constexpr double kHighShare = 0.995;

// Values to levels of colour: linear, or with the low ones spread.
class Contrast {
 public:
  Contrast(const StackGrid& grid, PlotScale scale) : scale_(scale) {
    std::vector<double> values = grid.values;
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
  }

  double position(double value) const {
    if (scale_ == PlotScale::kLog) {
      return value > 0 ? std::log10(value / low_) / std::log10(high_ / low_) : 0;
    }
    const double share = std::clamp((value - low_) / (high_ - low_), 0.0, 1.0);
    return scale_ == PlotScale::kSqrt ? std::sqrt(share) : share;
  }

  int level(double value) const {
    if (std::isnan(value)) return kNoValue;
    return static_cast<int>(std::lround(std::clamp(position(value), 0.0, 1.0) * (kLevels - 1)));
  }

  // In the coordinates of the colour bar, which go from 0 to 1.
  std::vector<Tick> ticks(int wanted) const {
    std::vector<Tick> ticks = scale_ == PlotScale::kLog ? decade_ticks(std::log10(low_), std::log10(high_))
                                                        : linear_ticks(low_, high_, wanted);
    for (Tick& tick : ticks) {
      tick.at = std::clamp(position(scale_ == PlotScale::kLog ? std::pow(10.0, tick.at) : tick.at), 0.0, 1.0);
    }
    return ticks;
  }

 private:
  PlotScale scale_;
  double low_ = 0;
  double high_ = 1;
};

// Neighbours of one colour become one rectangle. Each reaches one pixel into the next row and column, which
// are drawn over it: antialiased edges would otherwise let the paper shine through.
void draw_cells(Canvas& canvas, const StackGrid& grid, const Contrast& contrast, const Panel& panel,
                double frames) {
  const double pixel_x = (panel.x_high - panel.x_low) / (panel.right - panel.left);
  const double pixel_y = (panel.y_high - panel.y_low) / (panel.top - panel.bottom);
  for (std::size_t row = 0; row < grid.rows; ++row) {
    const double y_low = panel.y_low + frames * static_cast<double>(row) / static_cast<double>(grid.rows);
    const double y_high =
        panel.y_low + frames * static_cast<double>(row + 1) / static_cast<double>(grid.rows);
    for (std::size_t begin = 0; begin < grid.columns;) {
      const int level = contrast.level(grid.at(row, begin));
      std::size_t end = begin + 1;
      while (end < grid.columns && contrast.level(grid.at(row, end)) == level) ++end;
      canvas.rectangle(grid.x_edges[begin], std::min(grid.x_edges[end] + pixel_x, panel.x_high), y_low,
                       std::min(y_high + pixel_y, panel.y_high),
                       level == kNoValue ? kNeutral : stack_colour(level));
      begin = end;
    }
  }
}

void draw_colour_bar(Canvas& canvas, const Panel& stack, const Contrast& contrast) {
  const double em = canvas.em();
  const Panel bar{stack.right + 1.4 * em, stack.right + 2.7 * em, stack.bottom, stack.top, 0, 1, 0, 1};
  canvas.begin_panel(bar);
  for (int level = 0; level < kLevels; ++level) {
    canvas.rectangle(0, 1, static_cast<double>(level) / kLevels, std::min(1.0, (level + 2.0) / kLevels),
                     stack_colour(level));
  }
  canvas.frame();
  const int wanted = ticks_for(bar.top - bar.bottom, 4.5 * em);
  canvas.y_axis(contrast.ticks(wanted), "Intensity (arb. units)", true);
}

// Frames are whole things: no ticks between them.
std::vector<Tick> frame_ticks(double frames, int wanted) {
  std::vector<Tick> ticks = linear_ticks(0, frames - 1, wanted);
  if (frames == 1) ticks = {{0, "0"}};
  std::erase_if(ticks, [](const Tick& tick) { return tick.at != std::floor(tick.at); });
  return ticks;
}

Range drawn_range(const PatternFile& file, const PlotOptions& options) {
  const std::vector<double>& ends = file.header().edges.empty() ? file.header().axis : file.header().edges;
  Range range = options.radial_range.value_or(Range{ends.front(), ends.back()});
  if (range.low > range.high) std::swap(range.low, range.high);
  return range;
}

}  // namespace

void plot_stack(const PatternFile& file, const PlotOptions& options, const std::filesystem::path& picture) {
  if (file.frames() == 0) throw Error(ErrorKind::kInput, picture.string(), "there are no frames to draw yet");
  Canvas canvas(picture, options.width, options.height);
  const double em = canvas.em();
  Panel panel{0, canvas.width() - 11 * em, 4.2 * em, canvas.height() - 2.6 * em, 0, 1, 0, 1};
  const auto frames = static_cast<double>(file.frames());
  const auto y_ticks = frame_ticks(frames, ticks_for(panel.top - panel.bottom, 5 * em));
  panel.left = (widest_label(y_ticks) + 3) * em;
  auto most_columns = static_cast<std::size_t>(std::max(1.0, panel.right - panel.left));
  auto most_rows = static_cast<std::size_t>(std::max(1.0, panel.top - panel.bottom));
  if (canvas.is_vector()) {
    most_columns = std::min(most_columns, kMostVectorCells);
    most_rows = std::min(most_rows, kMostVectorCells);
  }
  const StackGrid grid = make_stack_grid(file, drawn_range(file, options), most_rows, most_columns);
  if (grid.columns == 0) {
    throw Error(ErrorKind::kUsage, "--range", "no bin of the file lies in it",
                fmt::format("choose within {} to {}", file.header().axis.front(), file.header().axis.back()));
  }
  const Contrast contrast(grid, options.scale);
  panel.x_low = grid.x_edges.front();
  panel.x_high = grid.x_edges.back();
  panel.y_low = -0.5;
  panel.y_high = frames - 0.5;
  canvas.begin_panel(panel);
  draw_cells(canvas, grid, contrast, panel, frames);
  canvas.frame();
  canvas.x_axis(linear_ticks(panel.x_low, panel.x_high, ticks_for(panel.right - panel.left, 8 * em)),
                file.header().axis_label);
  canvas.y_axis(y_ticks, "Frame");
  canvas.title(options.title.empty() ? fmt::format("{} frames", file.frames()) : options.title);
  draw_colour_bar(canvas, panel, contrast);
  canvas.finish();
}

}  // namespace annulus
