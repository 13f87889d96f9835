#include <annulus/core/error.hpp>
#include <annulus/maps/map.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

namespace annulus {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

struct ValueKind {
  MapValue value;
  std::string_view name;
  const char* title;
  double WindowValues::*field;
  bool radial;  // in the unit of the radial axis
};
constexpr std::array<ValueKind, 6> kValues = {
    {{MapValue::kIntensity, "intensity", "intensity", &WindowValues::intensity, false},
     {MapValue::kError, "error", "error", &WindowValues::error, false},
     {MapValue::kCentre, "centre", "centre of mass", &WindowValues::centre_of_mass, true},
     {MapValue::kWidth, "width", "width", &WindowValues::width, true},
     {MapValue::kMaximum, "maximum", "maximum", &WindowValues::maximum, false},
     {MapValue::kMaximumAt, "place", "place of the maximum", &WindowValues::maximum_at, true}}};

const ValueKind& kind_of(MapValue value) { return *std::ranges::find(kValues, value, &ValueKind::value); }

ImageAxis axis_of(const ScanAxis& axis, std::size_t count, const char* otherwise) {
  if (!axis.positions.empty()) return {axis.column.name, axis.column.unit, axis.positions};
  ImageAxis numbers{otherwise, "", std::vector<double>(count)};
  std::iota(numbers.positions.begin(), numbers.positions.end(), 0.0);
  return numbers;
}

std::vector<Window> windows_or_all(const std::vector<Window>& windows, const Axis& radial) {
  if (!windows.empty()) return windows;
  return {{"pattern", {radial.centres.front(), radial.centres.back()}}};
}

}  // namespace

std::string_view name_of(MapValue value) { return kind_of(value).name; }

std::optional<MapValue> map_value_from_name(std::string_view name) {
  const auto found = std::ranges::find(kValues, name, &ValueKind::name);
  if (found == kValues.end()) return std::nullopt;
  return found->value;
}

ImageAxis row_axis(const ScanGrid& grid) { return axis_of(grid.slow(), grid.rows(), "line"); }
ImageAxis column_axis(const ScanGrid& grid) { return axis_of(grid.fast(), grid.cols(), "point"); }

ScanMap make_map(const PatternFile& file, const MapOptions& options, std::stop_token stop,
                 const CellReader::Progress& on_progress) {
  const Axis& radial = file.header().radial();
  if (!file.header().has_errors &&
      std::ranges::find(options.values, MapValue::kError) != options.values.end())
    throw Error(ErrorKind::kUsage, "`values`", file.path().string() + " has no errors",
                "integrate with `error_model` poisson");
  const std::vector<Window> windows = windows_or_all(options.windows, radial);
  std::vector<WindowBins> bins;
  for (const Window& window : windows) bins.push_back(bins_of(window, radial));
  const ScanGrid grid = find_grid(file, options.grid);
  const CellReader reader(file, grid);

  ScanMap map;
  map.rows = grid.rows();
  map.columns = grid.cols();
  const auto add_image = [&](std::string name, std::string title, std::string unit, double value) {
    map.images.push_back({std::move(name), std::move(title), std::move(unit), row_axis(grid),
                          column_axis(grid), std::vector<double>(grid.cells(), value)});
  };
  for (const Window& window : windows) {
    for (const MapValue value : options.values) {
      const ValueKind& kind = kind_of(value);
      add_image(fmt::format("{}_{}", window.name, kind.name), fmt::format("{}: {}", window.name, kind.title),
                kind.radial ? radial.units : "", kNothing);
    }
  }
  reader.read_windows(
      bins,
      [&](std::size_t cell, std::span<const WindowValues> values) {
        std::size_t image = 0;
        for (const WindowValues& window : values) {
          for (const MapValue value : options.values)
            map.images[image++].values[cell] = window.*kind_of(value).field;
        }
      },
      stop, on_progress);

  add_image(kFramesImage, "frames in a cell", "", 0);
  const std::vector<std::uint32_t>& counts = reader.good_frames();
  for (std::size_t cell = 0; cell < grid.cells(); ++cell) {
    map.images.back().values[cell] = counts[cell];
    map.frames += counts[cell];
    map.empty_cells += counts[cell] == 0 ? 1 : 0;
    map.crowded_cells += counts[cell] > 1 ? 1 : 0;
  }
  map.left_out = file.frames() - map.frames;
  if (map.frames == 0)
    throw Error(ErrorKind::kInput, file.path().string(), "no cell has a good frame",
                "the output says of each why it is bad");
  return map;
}

void follow_map(FollowedOutput& output, const MapOptions& options,
                const std::function<void(const ScanMap& map, const PatternFile& file, bool complete)>& take,
                std::stop_token stop) {
  while (true) {
    const FollowedOutput::State state = output.next(stop);
    std::optional<ScanMap> map;
    try {
      map = make_map(*state.file, options, stop);
    } catch (const Error& error) {
      if (state.complete || error.kind() != ErrorKind::kInput) throw;
    }
    if (map) take(*map, *state.file, state.complete);
    if (state.complete) return;
  }
}

}  // namespace annulus
