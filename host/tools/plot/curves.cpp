#include <tools/plot/curves.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace annulus {
namespace {

constexpr std::size_t kMostLegendLines = 12;
constexpr double kLegendLine = 1.5;  // height, in lines of text

double scaled(double value, PlotScale scale) {
  if (scale == PlotScale::kLinear) return value;
  if (scale == PlotScale::kSqrt)
    return value < 0 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(value);
  return value > 0 ? std::log10(value) : std::numeric_limits<double>::quiet_NaN();
}

// Calls draw(first, last) for every run of bins that have a value: a gap in the data is a gap in the line.
template <typename Draw>
void for_each_run(const std::vector<double>& values, Draw draw) {
  for (std::size_t begin = 0; begin < values.size();) {
    std::size_t end = begin;
    while (end < values.size() && std::isfinite(values[end])) ++end;
    if (end > begin) draw(begin, end);
    begin = end + 1;
  }
}

// The lines that the legend names: all or, if those are too many, the first and the last.
std::vector<std::size_t> legend_lines(std::size_t curves, double height) {
  const std::size_t most = std::min(kMostLegendLines, static_cast<std::size_t>(height / kLegendLine));
  if (curves > most) return {0, curves - 1};
  std::vector<std::size_t> all(curves);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

std::optional<Range> value_range(const std::vector<Curve>& curves, const std::vector<double>& axis, Range x,
                                 PlotScale scale) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const Curve& curve : curves) {
    for (std::size_t bin = 0; bin < axis.size(); ++bin) {
      const double value = scaled(curve.values[bin], scale);
      if (axis[bin] < x.low || axis[bin] > x.high || !std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) return {};
  if (low == high)
    return Range{low - std::max(0.5, std::abs(low) * 0.1), high + std::max(0.5, std::abs(high) * 0.1)};
  const double margin = 0.05 * (high - low);
  const bool from_zero = scale != PlotScale::kLog && low >= 0 && low < 0.2 * high;
  return Range{from_zero ? 0 : low - margin, high + margin};
}

void draw_band(Canvas& canvas, const Curve& curve, const std::vector<double>& axis, PlotScale scale,
               double floor) {
  std::vector<double> middle(curve.values.size());
  std::transform(curve.values.begin(), curve.values.end(), middle.begin(),
                 [&](double v) { return scaled(v, scale); });
  for_each_run(middle, [&](std::size_t begin, std::size_t end) {
    std::vector<double> x(axis.begin() + static_cast<std::ptrdiff_t>(begin),
                          axis.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<double> y;
    for (std::size_t bin = begin; bin < end; ++bin)
      y.push_back(scaled(curve.values[bin] + curve.errors[bin], scale));
    for (std::size_t bin = end; bin-- > begin;) {
      const double lower = scaled(curve.values[bin] - curve.errors[bin], scale);
      x.push_back(axis[bin]);
      y.push_back(std::isfinite(lower) ? lower : floor);
    }
    if (x.size() > 2) canvas.fill(x, y, curve.colour, 0.3);
  });
}

void draw_line(Canvas& canvas, const Curve& curve, const std::vector<double>& axis, PlotScale scale) {
  std::vector<double> y(curve.values.size());
  std::transform(curve.values.begin(), curve.values.end(), y.begin(),
                 [&](double v) { return scaled(v, scale); });
  for_each_run(y, [&](std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    if (count == 1) {  // a lone bin between gaps: a dash as wide as the bin
      const double half = axis.size() > 1 ? std::abs(axis[1] - axis[0]) / 2 : 0.5;
      canvas.line(std::array{axis[begin] - half, axis[begin] + half}, std::array{y[begin], y[begin]},
                  curve.colour, 1.5);
    } else {
      canvas.line(std::span(axis).subspan(begin, count), std::span(y).subspan(begin, count), curve.colour,
                  1.5);
    }
  });
}

void draw_legend(Canvas& canvas, const Panel& panel, const std::vector<Curve>& curves) {
  if (curves.size() < 2) return;
  canvas.begin_page();
  const double em = canvas.em();
  double widest = 0;
  for (const Curve& curve : curves) widest = std::max(widest, text_width(curve.legend));
  double y = panel.top - 1.2 * em;
  for (const std::size_t i : legend_lines(curves.size(), (panel.top - panel.bottom) / em)) {
    const double x = panel.right - (widest + 2.6) * em;
    canvas.line(std::array{x, x + 1.6 * em}, std::array{y, y}, curves[i].colour, 2.5);
    canvas.text(x + 2.1 * em, y, curves[i].legend, 0, kInk);
    y -= kLegendLine * em;
  }
  canvas.begin_panel(panel);
}

std::vector<Tick> value_ticks(Range y, PlotScale scale, int wanted) {
  if (scale == PlotScale::kLinear) return linear_ticks(y.low, y.high, wanted);
  if (scale == PlotScale::kLog) return log_ticks(y.low, y.high, wanted);
  std::vector<Tick> ticks = linear_ticks(y.low * y.low, y.high * y.high, wanted);
  for (Tick& tick : ticks) tick.at = std::sqrt(tick.at);
  return ticks;
}

}  // namespace annulus
