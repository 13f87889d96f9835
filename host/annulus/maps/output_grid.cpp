#include <annulus/core/clock.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/text.hpp>
#include <annulus/maps/output_grid.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace annulus {
namespace {

constexpr auto kLook = std::chrono::milliseconds(100);
constexpr std::uint64_t kRecordsAtOnce = std::uint64_t{1} << 16;

GridOptions::GridShape stored_shape(const PatternFile& file) {
  const std::vector<std::uint64_t>& shape = file.header().scan_shape;
  if (shape.size() == 2 && shape[0] > 0 && shape[1] > 0) return {shape[0], shape[1]};
  throw Error(ErrorKind::kUsage, file.path().string(), "does not say of which shape the scan is",
              "name its two motors, or give `shape`");
}

// Without motors the place of a frame in the grid is its row.
void check_complete(const PatternFile& file) {
  const std::vector<std::uint64_t> numbers = file.read_numbers(0, file.frames());
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    if (numbers[row] == row) continue;
    throw Error(
        ErrorKind::kInput, file.path().string(),
        fmt::format("row {} is frame {} of the scan: it is a part, or frames are missing", row, numbers[row]),
        "name the columns of two motors, or merge all parts of the scan first");
  }
}

// Steps that are ten times as small as others look like noise, and frames of several positions would be
// averaged.
void check_cells(const ScanGrid& grid, const ScanAxis& axis, std::span<const double> values,
                 const AxisRule& rule, const std::string& tolerance) {
  if (!rule.is_automatic()) return;
  const double spread = spread_in_cells(grid, values, rule.period);
  if (!(spread > axis.least_step())) return;
  throw Error(
      ErrorKind::kInput, "column " + axis.column.name,
      fmt::format("values that differ by {:g} would count as the same of its {} positions, though other "
                  "positions are only {:g} apart",
                  spread, axis.size(), axis.least_step()),
      fmt::format("give `{}`, less than the smallest step", tolerance));
}

// Waits, unless a stop comes first.
void sleep_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace

std::vector<double> motor_values(const PatternFile& file, const std::string& name, ColumnInfo& info) {
  const std::vector<ColumnInfo>& columns = file.header().columns;
  const auto found = std::ranges::find(columns, name, &ColumnInfo::name);
  if (found == columns.end()) {
    std::string names;
    for (const ColumnInfo& column : columns) names += (names.empty() ? "" : ", ") + column.name;
    throw Error(
        ErrorKind::kUsage, file.path().string(), fmt::format("has no column {}", in_quotes(name)),
        columns.empty() ? "integrate with `column`, which stores values per frame" : "it has " + names);
  }
  info = *found;
  std::vector<double> values(file.frames());
  file.read_column(static_cast<std::size_t>(found - columns.begin()), 0, file.frames(), values);
  bool any_good = false;
  for (std::uint64_t first = 0; first < file.frames(); first += kRecordsAtOnce) {
    const auto bad = file.read_bad(first, std::min(kRecordsAtOnce, file.frames() - first));
    for (std::size_t i = 0; i < bad.size(); ++i) {
      any_good = any_good || !bad[i];
      if (bad[i]) values[first + i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  if (!any_good) {
    throw Error(ErrorKind::kInput, file.path().string(),
                fmt::format("none of its {} is good", frame_count(file.frames())),
                "the output says of each why it is bad");
  }
  return values;
}

ScanGrid find_grid(const PatternFile& file, const GridOptions& options) {
  if (file.frames() == 0)
    throw Error(ErrorKind::kInput, file.path().string(), "holds no frames", "reduce some first");
  if (options.slow.empty() != options.fast.empty()) {
    throw Error(ErrorKind::kUsage, file.path().string(), "a grid has two motors, and one is given",
                "name the column of the other");
  }
  if (options.slow.empty()) {
    const auto is_set = [](const AxisRule& rule) { return rule.step || rule.tolerance; };
    if (is_set(options.slow_rule) || is_set(options.fast_rule)) {
      throw Error(ErrorKind::kUsage, file.path().string(),
                  "steps and tolerances are of motors, and none is given",
                  "name the columns of two motors, or leave steps and tolerances out");
    }
    check_complete(file);
    const GridOptions::GridShape shape = options.shape ? *options.shape : stored_shape(file);
    return grid_of_shape(file.frames(), shape.rows, shape.columns, options.zigzag);
  }
  if (options.slow == options.fast) {
    throw Error(ErrorKind::kUsage, file.path().string(),
                fmt::format("column {} is named for both motors", options.slow),
                "name the column of the other");
  }
  if (options.shape) {
    throw Error(ErrorKind::kUsage, "`shape`", "the motors say where each frame was",
                "give either two columns or `shape`");
  }
  if (options.zigzag != Zigzag::kNone) {
    throw Error(ErrorKind::kUsage, "`zigzag`", "the motors say where each frame was",
                "leave it out, or give `shape` instead of columns");
  }
  ColumnInfo slow, fast;
  const std::vector<double> slow_values = motor_values(file, options.slow, slow);
  const std::vector<double> fast_values = motor_values(file, options.fast, fast);
  ScanGrid grid = grid_of_columns(find_axis(slow, slow_values, options.slow_rule),
                                  find_axis(fast, fast_values, options.fast_rule));
  check_cells(grid, grid.slow(), slow_values, options.slow_rule, options.slow_tolerance);
  check_cells(grid, grid.fast(), fast_values, options.fast_rule, options.fast_tolerance);
  return grid;
}

FollowedOutput::FollowedOutput(std::filesystem::path path, std::chrono::duration<double> timeout)
    : path_(std::move(path)), timeout_(timeout) {
  if (std::isfinite(timeout.count()) && timeout.count() >= 0) return;
  throw Error(ErrorKind::kUsage, "`follow_timeout`", fmt::format("{} is no time", timeout.count()),
              "give seconds, 0 or more");
}

FollowedOutput::State FollowedOutput::next(std::stop_token stop) {
  const auto start = Clock::now();
  while (true) {
    if (stop.stop_requested()) throw Error(ErrorKind::kInterrupted, path_.string(), "interrupted");
    const bool late = seconds_since(start) >= timeout_.count();
    std::error_code ignored;
    // Of no bytes: somebody has just created it.
    const bool there =
        std::filesystem::exists(path_, ignored) && std::filesystem::file_size(path_, ignored) > 0;
    if (there) {
      try {
        State state{std::make_unique<PatternFile>(path_)};
        const std::uint64_t frames = state.file->frames();
        state.complete = state.file->is_closed() || late;
        if (frames != seen_ || state.complete) {
          seen_ = frames;
          return state;
        }
      } catch (const Error& error) {
        // Its writer may have it for itself for a moment, to begin it or to repair it.
        if (late || error.kind() != ErrorKind::kInput) throw;
      }
    } else if (late) {
      throw Error(ErrorKind::kInput, path_.string(),
                  fmt::format("did not appear within {:g} seconds", timeout_.count()),
                  "start the reduction, or give a longer `follow_timeout`");
    }
    sleep_unless_stopped(kLook, stop);
  }
}

}  // namespace annulus
