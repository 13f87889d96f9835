#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/plot/plot_parts.hpp>

#include <cmath>

namespace annulus {

Canvas page_for(const PlotOptions& options, const std::filesystem::path& picture) {
  return {picture, options.width.value_or(1000), options.height.value_or(640)};
}

Range drawn_range(const OutputHeader& header, const PlotOptions& options) {
  const Range range = options.radial_range.value_or(Range{header.radial().low(), header.radial().high()});
  if (std::isfinite(range.low) && std::isfinite(range.high) && range.low < range.high) return range;
  const std::string fault = fmt::format("{} to {} is no range", range.low, range.high);
  if (!options.radial_range) throw Error(ErrorKind::kInput, "the radial axis", fault);
  throw Error(ErrorKind::kUsage, "`radial_range`", fault, "give the lower end first");
}

std::string title_of(const std::filesystem::path& file, const std::string& drawn) {
  return fmt::format("{}: {}", file.filename().string(), drawn);
}

void draw_title(Canvas& canvas, const PlotOptions& options, const std::string& usual) {
  if (options.title.empty()) {
    canvas.title(usual, Cut::kLeft);
  } else {
    canvas.title(options.title, Cut::kRight);
  }
}

}  // namespace annulus
