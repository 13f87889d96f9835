#include <annulus/core/error.hpp>
#include <annulus/maps/output_grid.hpp>
#include <annulus/tomography/angle_weights.hpp>
#include <annulus/xrd_ct/measured_scan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

namespace annulus {
namespace {

// Degrees per unit of the column; "deg." is what headers of frames say.
double degrees_per_unit(const ColumnInfo& column, std::vector<std::string>& remarks) {
  std::string unit = column.unit;
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  if (unit.ends_with('.')) unit.pop_back();
  if (unit.empty()) {
    remarks.push_back(fmt::format("column {} has no unit: its values are taken as degrees", column.name));
    return 1;
  }
  for (const char* name : {"deg", "degree", "degrees", "\u00b0"}) {
    if (unit == name) return 1;
  }
  for (const char* name : {"rad", "radian", "radians"}) {
    if (unit == name) return 180 / std::numbers::pi;
  }
  throw Error(ErrorKind::kInput, fmt::format("column {}", column.name),
              fmt::format("its unit is '{}', which is none of angles", column.unit),
              "choose a column in degrees (deg) or radians (rad) for `angle`");
}

std::vector<double> values_of(const PatternFile& file, const std::string& name) {
  const std::vector<ColumnInfo>& columns = file.header().columns;
  const auto found = std::ranges::find(columns, name, &ColumnInfo::name);
  std::vector<double> values(file.frames());
  file.read_column(static_cast<std::size_t>(found - columns.begin()), 0, values.size(), values);
  return values;
}

void place_by_columns(const PatternFile& file, const TomoOptions& options, MeasuredScan& scan) {
  const ScanGrid& grid = scan.grid;
  const ColumnInfo &angle = grid.slow().column, &translation = grid.fast().column;
  const double factor = degrees_per_unit(angle, scan.remarks);
  scan.angle = {angle.name, "deg", grid.slow().positions};
  for (double& position : scan.angle.positions) position *= factor;
  const std::vector<double>& found = grid.fast().positions;
  const double first = found.front();
  scan.step = (found.back() - first) / static_cast<double>(found.size() - 1);
  scan.translation = {translation.name, translation.unit, {}};
  for (std::size_t i = 0; i < found.size(); ++i)
    scan.translation.positions.push_back(first + scan.step * static_cast<double>(i));
  const std::vector<double> values = values_of(file, options.grid.fast);
  for (std::size_t row = 0; row < grid.rows(); ++row) {
    for (std::size_t col = 0; col < grid.cols(); ++col) {
      const std::span<const std::uint32_t> frames = grid.frames_in(row, col);
      if (frames.empty()) continue;
      double sum = 0;
      for (const std::uint32_t frame : frames) sum += values[frame];
      const double place = (sum / static_cast<double>(frames.size()) - first) / scan.step;
      scan.places[row * grid.cols() + col] = place;
      scan.unevenness = std::max(scan.unevenness, std::abs(place - static_cast<double>(col)));
    }
  }
}

void place_by_shape(const TomoOptions& options, MeasuredScan& scan) {
  const ScanGrid& grid = scan.grid;
  scan.angle = {"angle", "deg", {}};
  for (std::size_t row = 0; row < grid.rows(); ++row) {
    scan.angle.positions.push_back(*options.angle_range * static_cast<double>(row) /
                                   static_cast<double>(grid.rows()));
  }
  scan.translation = {"position", "", {}};
  for (std::size_t col = 0; col < grid.cols(); ++col)
    scan.translation.positions.push_back(static_cast<double>(col));
  for (std::size_t cell = 0; cell < grid.cells(); ++cell) {
    if (!grid.frames_in(cell / grid.cols(), cell % grid.cols()).empty())
      scan.places[cell] = static_cast<double>(cell % grid.cols());
  }
}

std::size_t row_of_last_frame(const ScanGrid& grid) {
  std::size_t row_of_last = 0;
  std::uint32_t last = 0;
  for (std::size_t cell = 0; cell < grid.cells(); ++cell) {
    const auto frames = grid.frames_in(cell / grid.cols(), cell % grid.cols());
    if (frames.empty() || frames.back() < last) continue;
    last = frames.back();
    row_of_last = cell / grid.cols();
  }
  return row_of_last;
}

}  // namespace

MeasuredScan find_scan(const PatternFile& file, const TomoOptions& options, bool complete) {
  MeasuredScan scan;
  scan.grid = find_grid(file, options.grid);
  const ScanGrid& grid = scan.grid;
  if (grid.rows() < 2 || grid.cols() < 2) {
    throw Error(
        ErrorKind::kInput, file.path().string(),
        fmt::format("a scan of {} x {} (angles x positions) makes no tomogram", grid.rows(), grid.cols()),
        "it needs two angles and two positions or more");
  }
  scan.places.assign(grid.cells(), std::numeric_limits<double>::quiet_NaN());
  if (options.grid.slow.empty()) {
    place_by_shape(options, scan);
  } else {
    place_by_columns(file, options, scan);
  }
  std::vector<double> radians = scan.angle.positions;
  for (double& angle : radians) angle *= std::numbers::pi / 180;
  if (count_directions(radians) < 2) {
    throw Error(ErrorKind::kInput, file.path().string(),
                fmt::format("its {} angles are a single direction to look from", radians.size()),
                "a tomogram needs several: is the column that of the rotation, and its unit right?");
  }
  if (!complete) scan.unfinished_row = row_of_last_frame(grid);
  return scan;
}

}  // namespace annulus
