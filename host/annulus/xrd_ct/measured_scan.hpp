// Where the projections of a scan were measured: angles, and positions of the translation.
#pragma once

#include <annulus/outputs/reader.hpp>
#include <annulus/scan/grid_image.hpp>
#include <annulus/scan/scan_grid.hpp>
#include <annulus/xrd_ct/tomo_options.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

// A reconstruction needs positions that are one step apart. Motors are not that exact, and linear
// interpolation between positions smooths: deviations of less than this part of a step count as none.
inline constexpr double kUneven = 0.05;

struct MeasuredScan {
  ScanGrid grid;          // rows are angles
  ImageAxis angle;        // of each row, degrees
  ImageAxis translation;  // as many even positions as the grid has columns
  double step = 1;

  // Of each cell: where its frames were, in steps from the first even position. NaN without frames.
  std::vector<double> places;
  double unevenness = 0;  // the largest deviation of a place from the position of its column

  std::optional<std::size_t> unfinished_row = std::nullopt;  // that of the last frame, if more may come
  std::vector<std::string> remarks;

  bool is_uneven() const { return unevenness > kUneven; }
};

// Throws kUsage and kInput for columns and shapes that make no scan of angles and positions.
MeasuredScan find_scan(const PatternFile& file, const TomoOptions& options, bool complete);

}  // namespace annulus
