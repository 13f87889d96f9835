#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
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
#include <utility>

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

std::string first_of(std::span<const double> numbers) {
  constexpr std::size_t kNamed = 5;
  return fmt::format("{:g}{}", fmt::join(numbers.first(std::min(kNamed, numbers.size())), ", "),
                     numbers.size() > kNamed ? ", ..." : "");
}

// A rotation that goes on through several turns comes back to the same angles. Up to one turn angles stay as
// they are; both of its ends may have been measured, not quite exactly.
constexpr double kOneTurn = 360, kMoreThanOneTurn = 361;

GridOptions with_period(const PatternFile& file, GridOptions grid) {
  const std::vector<ColumnInfo>& columns = file.header().columns;
  const auto angle = std::ranges::find(columns, grid.slow, &ColumnInfo::name);
  if (grid.slow.empty() || angle == columns.end()) return grid;
  std::vector<std::string> ignored;
  const double factor = degrees_per_unit(*angle, ignored);
  ColumnInfo column;
  std::vector<double> values = motor_values(file, grid.slow, column);
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return grid;
  const auto [least, most] = std::ranges::minmax(values);
  if ((most - least) * factor > kMoreThanOneTurn) grid.slow_rule.period = kOneTurn / factor;
  return grid;
}

constexpr std::size_t kHardlyAny = 4;     // as a part of the angles that most positions have
constexpr double kOffLattice = 0.25;      // of a step
constexpr std::size_t kMostInserted = 2;  // positions for each that was measured

// One stray frame is no position of the scan.
ScanAxis without_rare_positions(const ScanGrid& grid, std::vector<std::string>& remarks) {
  ScanAxis axis = grid.fast();
  std::vector<std::size_t> angles(grid.cols()), frames(grid.cols());
  for (std::size_t cell = 0; cell < grid.cells(); ++cell) {
    const std::size_t count = grid.frames_in(cell / grid.cols(), cell % grid.cols()).size();
    angles[cell % grid.cols()] += count > 0 ? 1 : 0;
    frames[cell % grid.cols()] += count;
  }
  std::vector<std::size_t> sorted = angles;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  std::vector<std::uint32_t> becomes(grid.cols(), ScanAxis::kNowhere);
  std::vector<double> kept, rare;
  std::size_t lost = 0;
  for (std::size_t col = 0; col < grid.cols(); ++col) {
    if (kHardlyAny * angles[col] < *middle) {
      rare.push_back(axis.positions[col]);
      lost += frames[col];
    } else {
      becomes[col] = static_cast<std::uint32_t>(kept.size());
      kept.push_back(axis.positions[col]);
    }
  }
  if (rare.empty()) return axis;
  for (std::uint32_t& position : axis.position_of) {
    if (position != ScanAxis::kNowhere) position = becomes[position];
  }
  axis.positions = std::move(kept);
  remarks.push_back(
      fmt::format("column {} has {} position{} that hardly any angle has, left out with {}: {}{}{}",
                  axis.column.name, rare.size(), rare.size() == 1 ? "" : "s", frame_count(lost),
                  first_of(rare), axis.column.unit.empty() ? "" : " ", axis.column.unit));
  return axis;
}

// Where each position is on a grid of even steps, if it is near one: some may have been measured nowhere.
std::optional<std::vector<std::size_t>> places_on_even_steps(std::span<const double> positions) {
  if (positions.size() < 3) return std::nullopt;
  std::vector<double> steps;
  for (std::size_t i = 1; i < positions.size(); ++i) steps.push_back(positions[i] - positions[i - 1]);
  std::vector<double> sorted = steps;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::ranges::nth_element(sorted, middle);
  std::vector<std::size_t> places{0};
  for (const double each : steps) {
    const double times = std::round(each / *middle);
    if (!(times >= 1) || times > static_cast<double>(kMostInserted * positions.size())) return std::nullopt;
    places.push_back(places.back() + static_cast<std::size_t>(times));
  }
  if (places.back() >= kMostInserted * positions.size()) return std::nullopt;
  const double step = (positions.back() - positions.front()) / static_cast<double>(places.back());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double even = positions.front() + step * static_cast<double>(places[i]);
    if (std::abs(positions[i] - even) > kOffLattice * step) return std::nullopt;
  }
  return places;
}

// With the positions that were measured at no angle.
ScanAxis with_lost_positions(ScanAxis axis, std::vector<std::string>& remarks) {
  const auto places = places_on_even_steps(axis.positions);
  if (!places || places->back() + 1 == axis.size()) return axis;
  const double first = axis.positions.front();
  const double step = (axis.positions.back() - first) / static_cast<double>(places->back());
  std::vector<double> all, lost;
  for (std::size_t i = 0; i < axis.size(); ++i) {
    while (all.size() < (*places)[i]) {
      all.push_back(first + step * static_cast<double>(all.size()));
      lost.push_back(all.back());
    }
    all.push_back(axis.positions[i]);
  }
  for (std::uint32_t& position : axis.position_of) {
    if (position != ScanAxis::kNowhere) position = static_cast<std::uint32_t>((*places)[position]);
  }
  axis.positions = std::move(all);
  remarks.push_back(
      fmt::format("{} of {} positions of column {}, one step apart, {} no frame at any angle: {}{}{}",
                  lost.size(), axis.size(), axis.column.name, lost.size() == 1 ? "has" : "have",
                  first_of(lost), axis.column.unit.empty() ? "" : " ", axis.column.unit));
  return axis;
}

// Angles of frames without a cell that no other frame has.
void remark_lost_angles(const PatternFile& file, const GridOptions& options, double factor,
                        MeasuredScan& scan) {
  const std::optional<double>& period = options.slow_rule.period;
  const ScanAxis& axis = scan.grid.slow();
  const std::vector<double> values = values_of(file, options.slow);
  std::vector<double> lost;
  for (const std::uint32_t frame : scan.grid.left_out()) {
    double value = values[frame];
    if (!std::isfinite(value)) continue;
    if (period) value -= *period * std::floor(value / *period);
    const bool is_known = std::ranges::any_of(axis.positions, [&](double position) {
      const double distance = std::abs(value - position);
      return std::min(distance, period ? std::abs(*period - distance) : distance) <= axis.tolerance;
    });
    if (!is_known) lost.push_back(value);
  }
  std::ranges::sort(lost);
  std::vector<double> angles;
  for (std::size_t i = 0; i < lost.size(); ++i) {
    if (i == 0 || lost[i] - lost[i - 1] > axis.tolerance) angles.push_back(lost[i] * factor);
  }
  if (angles.empty()) return;
  scan.remarks.push_back(fmt::format("{} angle{} no good frame and {} left out: {} degrees", angles.size(),
                                     angles.size() == 1 ? " has" : "s have",
                                     angles.size() == 1 ? "is" : "are", first_of(angles)));
}

// Frames of a cell that are hardly noise apart: they may be several positions.
void remark_spread(const PatternFile& file, const GridOptions& options, MeasuredScan& scan) {
  const auto look = [&](const ScanAxis& axis, const AxisRule& rule, const std::string& tolerance) {
    if (!rule.is_automatic()) return;
    const double spread = spread_in_cells(scan.grid, values_of(file, axis.column.name), rule.period);
    if (!(spread > kUneven * axis.least_step())) return;
    scan.remarks.push_back(fmt::format(
        "frames of one cell are up to {:g}{}{} apart in column {}: if that is no "
        "noise, give a smaller `{}`, and they are positions of their own",
        spread, axis.column.unit.empty() ? "" : " ", axis.column.unit, axis.column.name, tolerance));
  };
  look(scan.grid.slow(), options.slow_rule, options.slow_tolerance);
  look(scan.grid.fast(), options.fast_rule, options.fast_tolerance);
}

void place_by_columns(const PatternFile& file, const GridOptions& options, MeasuredScan& scan) {
  const ScanGrid& grid = scan.grid;
  const ColumnInfo &angle = grid.slow().column, &translation = grid.fast().column;
  const double factor = degrees_per_unit(angle, scan.remarks);
  scan.angle = {angle.name, "deg", grid.slow().positions};
  for (double& position : scan.angle.positions) position *= factor;
  remark_lost_angles(file, options, factor, scan);
  remark_spread(file, options, scan);
  const std::vector<double>& found = grid.fast().positions;
  const double first = found.front();
  scan.step = (found.back() - first) / static_cast<double>(found.size() - 1);
  scan.translation = {translation.name, translation.unit, {}};
  for (std::size_t i = 0; i < found.size(); ++i)
    scan.translation.positions.push_back(first + scan.step * static_cast<double>(i));
  const std::vector<double> values = values_of(file, options.fast);
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
  const GridOptions grid_options = with_period(file, options.grid);
  scan.grid = find_grid(file, grid_options);
  if (!options.grid.slow.empty()) {
    ScanAxis translation = with_lost_positions(without_rare_positions(scan.grid, scan.remarks), scan.remarks);
    scan.grid = grid_of_columns(scan.grid.slow(), std::move(translation));
  }
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
    place_by_columns(file, grid_options, scan);
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
