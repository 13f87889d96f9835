// Pictures of output files: a pattern as a line, a scan as a map of frames, a cake as a map of its bins;
// images over two axes in panels; correlations of snapshots.
#pragma once

#include <annulus/outputs/reader.hpp>
#include <annulus/plan/integration_options.hpp>
#include <annulus/scan/grid_image.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

struct StoredCorrelation;

enum class PlotScale { kLinear, kSqrt, kLog };

struct PlotOptions {
  // Rows of the file to draw as lines. One is drawn with its error band, several with a legend; none stands
  // for the mean of all good frames. Of cakes one is drawn. A stack takes no notice of it.
  std::vector<std::uint64_t> frames;
  std::optional<Range> radial_range;     // in the file's unit
  PlotScale scale = PlotScale::kLinear;  // of the intensity, or of the colours
  std::string title;                     // empty: the file and what is drawn; of images none
  // Pixels. Without: 1000 x 640; of images as many as the panels need.
  std::optional<std::uint32_t> width;
  std::optional<std::uint32_t> height;
};

// The name ends in .png or .svg. All throw kInput if there is nothing to draw, kUsage for options that do
// not fit the file, kOutput if the picture cannot be written.
void plot_pattern(const StoredPatterns& patterns, const PlotOptions& options,
                  const std::filesystem::path& picture);

// One frame, or the mean of all good ones, as a map of radius and azimuth; bins without pixels are grey.
void plot_cake(const PatternFile& file, const PlotOptions& options, const std::filesystem::path& picture);

// Reads the file in pieces and averages it down to the picture's pixels: memory does not grow with the scan.
void plot_stack(const PatternFile& file, const PlotOptions& options, const std::filesystem::path& picture);

// Panels in rows, from the top left, each with axes, title and colour bar; rows may differ in length. Cells
// lie where they are: their edges are half way between positions. Row 0 is at the bottom, so y grows upwards,
// of tomograms too. Where both axes have the same unit, a length is as long in x as in y, unless the panel
// would be very thin. Cells without a value are grey, and a panel without any says so.
void plot_images(const std::vector<std::vector<GridImage>>& rows, const PlotOptions& options,
                 const std::filesystem::path& picture);

// What of a correlation is drawn: C2(q, q, d), C2(q, q', 0), the coefficients B_l(q, q) of several l, or all
// that there is side by side.
enum class CorrelationView { kAll, kOnRing, kAtZero, kLegendre };

// C2(q, q, d) of each ring is shown relative to its scatter over d, so that weak rings are seen, or, where
// means were kept, to its mean; C2(q, q', 0) as a coefficient of correlation. Or, if `absolute`, all as it is
// stored. The colours do not follow what products of a value with itself have of photon noise. Coefficients
// are on a logarithmic axis.
void plot_correlation(const StoredCorrelation& correlation, CorrelationView view, bool absolute,
                      const PlotOptions& options, const std::filesystem::path& picture);

}  // namespace annulus
