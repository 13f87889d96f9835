#include <annulus/core/error.hpp>
#include <annulus/outputs/reader.hpp>

#include <fmt/core.h>
#include <tools/plot/colour_map.hpp>
#include <tools/plot/plot.hpp>
#include <tools/plot/plot_map.hpp>
#include <tools/plot/plot_parts.hpp>

#include <cmath>
#include <limits>

namespace annulus {
namespace {

struct Cake {
  std::string title;
  std::vector<double> values;
};

[[noreturn]] void no_cake_to_draw(const std::string& what) {
  throw Error(ErrorKind::kInput, "the cakes", what, "choose another frame");
}

Cake one_cake(const PatternFile& file, std::uint64_t row) {
  if (row >= file.frames()) {
    throw Error(ErrorKind::kUsage, "`frame`", fmt::format("there is no frame {}", row),
                fmt::format("choose from 0 to {}", file.frames() - 1));
  }
  const FrameRecord record = file.read_records(row, 1).front();
  if (record.bad) no_cake_to_draw(fmt::format("frame {} is bad: {}", row, record.fault));
  Cake cake{frame_name(record), std::vector<double>(file.bins())};
  file.read_intensities(row, 1, cake.values);
  return cake;
}

// Bin by bin over the good frames that have a value there, one frame in memory at a time.
Cake mean_cake(const PatternFile& file) {
  std::vector<double> sums(file.bins(), 0), frame(file.bins());
  std::vector<std::uint32_t> counts(file.bins(), 0);
  std::uint64_t good = 0;
  for (std::uint64_t row = 0; row < file.frames(); ++row) {
    if (file.read_records(row, 1).front().bad) continue;
    ++good;
    file.read_intensities(row, 1, frame);
    for (std::size_t bin = 0; bin < frame.size(); ++bin) {
      if (!std::isfinite(frame[bin])) continue;
      sums[bin] += frame[bin];
      ++counts[bin];
    }
  }
  if (good == 0) no_cake_to_draw("there is no good frame");
  for (std::size_t bin = 0; bin < sums.size(); ++bin) {
    sums[bin] = counts[bin] == 0 ? std::numeric_limits<double>::quiet_NaN() : sums[bin] / counts[bin];
  }
  return {title_of(file.path(), "mean of " + frame_count(good)), std::move(sums)};
}

Cake chosen_cake(const PatternFile& file, const std::vector<std::uint64_t>& rows) {
  if (file.frames() == 0) no_cake_to_draw("the file has no frames yet");
  if (rows.size() > 1) {
    throw Error(ErrorKind::kUsage, "`frame`", fmt::format("{} cakes do not fit one picture", rows.size()),
                "draw them one by one");
  }
  if (rows.empty() && file.frames() > 1) return mean_cake(file);
  return one_cake(file, rows.empty() ? 0 : rows.front());
}

}  // namespace

void plot_cake(const PatternFile& file, const PlotOptions& options, const std::filesystem::path& picture) {
  const OutputHeader& header = file.header();
  const Cake cake = chosen_cake(file, options.frames);
  Canvas canvas = page_for(options, picture);
  const double em = canvas.em();
  Panel panel = map_panel(canvas);
  const Axis& azimuths = header.axes.at(1);
  const auto y_ticks =
      degree_ticks(azimuths.low(), azimuths.high(), ticks_for(panel.top - panel.bottom, 3.5 * em));
  panel.left = (widest_label(y_ticks) + 3) * em;
  const MostCells most = most_cells(canvas, panel);
  const StackGrid grid =
      make_cake_grid(header, cake.values, drawn_range(header, options), most.rows, most.columns);
  draw_radial_map(canvas, panel, grid, header, options, {y_ticks, label_of(azimuths), cake.title});
  canvas.finish();
}

}  // namespace annulus
