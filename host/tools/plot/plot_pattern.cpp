#include <annulus/core/error.hpp>
#include <annulus/outputs/reader.hpp>

#include <fmt/core.h>
#include <tools/plot/canvas.hpp>
#include <tools/plot/plot.hpp>
#include <tools/plot/plot_parts.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace annulus {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr Colour kBlue{31, 119, 180};
constexpr std::size_t kMostLegendLines = 12;
constexpr double kLegendLine = 1.5;  // height, in lines of text

struct Curve {
  std::string title;
  std::vector<double> values;
  std::vector<double> errors;  // may be empty
  Colour colour = kBlue;
};

[[noreturn]] void no_pattern_to_draw(const std::string& what) {
  throw Error(ErrorKind::kInput, "the patterns", what, "choose other frames, or another range");
}

// The mean of the good frames, bin by bin over those that have a value there.
Curve mean_of(const StoredPatterns& patterns) {
  const std::size_t bins = patterns.header.radial().bins();
  Curve mean;
  mean.values.assign(bins, 0);
  std::vector<double> variance(bins, 0);
  std::vector<std::size_t> counts(bins, 0);
  std::size_t good = 0;
  for (std::size_t frame = 0; frame < patterns.frames.size(); ++frame) {
    if (patterns.frames[frame].bad) continue;
    ++good;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const double value = patterns.intensity(frame)[bin];
      if (!std::isfinite(value)) continue;
      ++counts[bin];
      mean.values[bin] += value;
      if (!patterns.errors.empty()) variance[bin] += patterns.error(frame)[bin] * patterns.error(frame)[bin];
    }
  }
  if (good == 0) no_pattern_to_draw("there is no good frame");
  if (!patterns.errors.empty()) mean.errors.resize(bins);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const double count = counts[bin] == 0 ? kNothing : static_cast<double>(counts[bin]);
    mean.values[bin] /= count;
    if (!mean.errors.empty()) mean.errors[bin] = std::sqrt(variance[bin]) / count;
  }
  mean.title = title_of(patterns.file, "mean of " + frame_count(good));
  return mean;
}

std::vector<Curve> curves_of(const StoredPatterns& patterns, const std::vector<std::uint64_t>& rows) {
  if (patterns.frames.empty()) no_pattern_to_draw("the file has no frames yet");
  if (rows.empty() && patterns.frames.size() > 1) return {mean_of(patterns)};
  std::vector<Curve> curves;
  for (const std::uint64_t row : rows.empty() ? std::vector{patterns.first} : rows) {
    const std::uint64_t frame = row - patterns.first;
    if (row < patterns.first || frame >= patterns.frames.size()) {
      throw Error(
          ErrorKind::kUsage, "`frame`", fmt::format("there is no frame {}", row),
          fmt::format("choose from {} to {}", patterns.first, patterns.first + patterns.frames.size() - 1));
    }
    const FrameRecord& record = patterns.frames[frame];
    if (record.bad) no_pattern_to_draw(fmt::format("frame {} is bad: {}", row, record.fault));
    Curve curve;
    curve.title = frame_name(record);
    curve.values.assign(patterns.intensity(frame).begin(), patterns.intensity(frame).end());
    if (!patterns.errors.empty())
      curve.errors.assign(patterns.error(frame).begin(), patterns.error(frame).end());
    curves.push_back(std::move(curve));
  }
  if (curves.size() == 1) return curves;
  for (std::size_t i = 0; i < curves.size(); ++i) {  // not up to the yellow end, which is faint on white
    curves[i].colour = stack_colour(static_cast<int>(215 * i / (curves.size() - 1)));
    curves[i].errors.clear();
  }
  return curves;
}

double scaled(double value, PlotScale scale) {
  if (scale == PlotScale::kLinear) return value;
  if (scale == PlotScale::kSqrt) return value < 0 ? kNothing : std::sqrt(value);
  return value > 0 ? std::log10(value) : kNothing;
}

// From the lowest to the highest value with a margin; down to zero where that costs little.
Range value_range(const std::vector<Curve>& curves, const std::vector<double>& axis, Range x,
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
  if (low > high) {
    no_pattern_to_draw(scale == PlotScale::kLog ? "no value in the range is positive"
                                                : "no bin in the range has a value");
  }
  if (low == high)
    return {low - std::max(0.5, std::abs(low) * 0.1), high + std::max(0.5, std::abs(high) * 0.1)};
  const double margin = 0.05 * (high - low);
  const bool from_zero = scale != PlotScale::kLog && low >= 0 && low < 0.2 * high;
  return {from_zero ? 0 : low - margin, high + margin};
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

// The lines that the legend names: all or, if those are too many, the first and the last.
std::vector<std::size_t> legend_lines(std::size_t curves, double height) {
  const std::size_t most = std::min(kMostLegendLines, static_cast<std::size_t>(height / kLegendLine));
  if (curves > most) return {0, curves - 1};
  std::vector<std::size_t> all(curves);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void draw_legend(Canvas& canvas, const Panel& panel, const std::vector<Curve>& curves,
                 const std::vector<std::uint64_t>& rows) {
  if (curves.size() < 2) return;
  canvas.begin_page();
  const double em = canvas.em();
  double widest = 0;
  for (const std::uint64_t row : rows) widest = std::max(widest, text_width(fmt::format("frame {}", row)));
  double y = panel.top - 1.2 * em;
  for (const std::size_t i : legend_lines(curves.size(), (panel.top - panel.bottom) / em)) {
    const double x = panel.right - (widest + 2.6) * em;
    canvas.line(std::array{x, x + 1.6 * em}, std::array{y, y}, curves[i].colour, 2.5);
    canvas.text(x + 2.1 * em, y, fmt::format("frame {}", rows[i]), 0, kInk);
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

}  // namespace

void plot_pattern(const StoredPatterns& patterns, const PlotOptions& options,
                  const std::filesystem::path& picture) {
  const OutputHeader& header = patterns.header;
  const std::vector<Curve> curves = curves_of(patterns, options.frames);
  const Range x = drawn_range(header, options);
  const Range y = value_range(curves, header.radial().centres, x, options.scale);

  Canvas canvas = page_for(options, picture);
  const double em = canvas.em();
  Panel panel{0,     canvas.width() - 1.8 * em, 4.2 * em, canvas.height() - 2.6 * em, x.low, x.high, y.low,
              y.high};
  const auto y_ticks = value_ticks(y, options.scale, ticks_for(panel.top - panel.bottom, 5 * em));
  panel.left = (widest_label(y_ticks) + 3) * em;
  const auto x_ticks = linear_ticks(x.low, x.high, ticks_for(panel.right - panel.left, 8 * em));
  canvas.begin_panel(panel);
  for (const Curve& curve : curves) {
    if (!curve.errors.empty()) draw_band(canvas, curve, header.radial().centres, options.scale, y.low);
    draw_line(canvas, curve, header.radial().centres, options.scale);
  }
  draw_legend(canvas, panel, curves, options.frames);
  canvas.frame();
  canvas.x_axis(x_ticks, label_of(header.radial()));
  canvas.y_axis(y_ticks, "Intensity (arb. units)");
  draw_title(canvas, options,
             curves.size() == 1 ? curves[0].title : title_of(patterns.file, frame_count(curves.size())));
  canvas.finish();
}

}  // namespace annulus
