// Pictures of output files: a pattern as a line, a scan as a map of frames, a cake as a map of its bins.
#pragma once

#include <annulus/outputs/reader.hpp>
#include <annulus/plan/integration_options.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

enum class PlotScale { kLinear, kSqrt, kLog };

struct PlotOptions {
  // Rows of the file to draw as lines. One is drawn with its error band, several with a legend; none stands
  // for the mean of all good frames. Of cakes one is drawn. A stack takes no notice of it.
  std::vector<std::uint64_t> frames;
  std::optional<Range> radial_range;     // in the file's unit
  PlotScale scale = PlotScale::kLinear;  // of the intensity, or of the colours
  std::string title;                     // empty: the file and what is drawn
  std::uint32_t width = 1000;            // pixels
  std::uint32_t height = 640;
};

// The name ends in .png or .svg. All throw kInput if there is nothing to draw, kUsage for options that do
// not fit the file, kOutput if the picture cannot be written.
void plot_pattern(const StoredPatterns& patterns, const PlotOptions& options,
                  const std::filesystem::path& picture);

// One frame, or the mean of all good ones, as a map of radius and azimuth; bins without pixels are grey.
void plot_cake(const PatternFile& file, const PlotOptions& options, const std::filesystem::path& picture);

// Reads the file in pieces and averages it down to the picture's pixels: memory does not grow with the scan.
void plot_stack(const PatternFile& file, const PlotOptions& options, const std::filesystem::path& picture);

}  // namespace annulus
