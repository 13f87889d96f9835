#include <annulus/core/error.hpp>
#include <annulus/outputs/reader.hpp>

#include <fmt/core.h>
#include <tools/plot/canvas.hpp>
#include <tools/plot/curves.hpp>
#include <tools/plot/plot.hpp>
#include <tools/plot/plot_parts.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace annulus {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

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
    curve.legend = fmt::format("frame {}", row);
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

}  // namespace

void plot_pattern(const StoredPatterns& patterns, const PlotOptions& options,
                  const std::filesystem::path& picture) {
  const OutputHeader& header = patterns.header;
  const std::vector<Curve> curves = curves_of(patterns, options.frames);
  const Range x = drawn_range(header, options);
  const auto y = value_range(curves, header.radial().centres, x, options.scale);
  if (!y) {
    no_pattern_to_draw(options.scale == PlotScale::kLog ? "no value in the range is positive"
                                                        : "no bin in the range has a value");
  }

  Canvas canvas = page_for(options, picture);
  const double em = canvas.em();
  Panel panel{0,      canvas.width() - 1.8 * em, 4.2 * em, canvas.height() - 2.6 * em, x.low, x.high, y->low,
              y->high};
  const auto y_ticks = value_ticks(*y, options.scale, ticks_for(panel.top - panel.bottom, 5 * em));
  panel.left = (widest_label(y_ticks) + 3) * em;
  const auto x_ticks = linear_ticks(x.low, x.high, ticks_for(panel.right - panel.left, 8 * em));
  canvas.begin_panel(panel);
  for (const Curve& curve : curves) {
    if (!curve.errors.empty()) draw_band(canvas, curve, header.radial().centres, options.scale, y->low);
    draw_line(canvas, curve, header.radial().centres, options.scale);
  }
  draw_legend(canvas, panel, curves);
  canvas.frame();
  canvas.x_axis(x_ticks, label_of(header.radial()));
  canvas.y_axis(y_ticks, "Intensity (arb. units)");
  draw_title(canvas, options,
             curves.size() == 1 ? curves[0].title : title_of(patterns.file, frame_count(curves.size())));
  canvas.finish();
}

}  // namespace annulus
