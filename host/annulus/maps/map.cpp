#include <annulus/core/error.hpp>
#include <annulus/core/sha256.hpp>
#include <annulus/maps/map.hpp>
#include <annulus/ranks/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace annulus {
namespace {

constexpr const char* kOneFileForAll =
    "see that all ranks see the same file, and that nobody replaces it meanwhile";
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

WindowDetail detail_of(const std::vector<MapValue>& values) {
  const bool shape = std::ranges::any_of(
      values, [](MapValue value) { return value != MapValue::kIntensity && value != MapValue::kError; });
  return shape ? WindowDetail::kShape : WindowDetail::kIntensity;
}

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

std::vector<WindowBins> check_windows(const PatternFile& file, const MapOptions& options,
                                      const std::vector<Window>& windows) {
  if (!file.header().has_errors &&
      std::ranges::find(options.values, MapValue::kError) != options.values.end())
    throw Error(ErrorKind::kUsage, "`values`", file.path().string() + " has no errors",
                "integrate with `error_model` poisson");
  std::vector<WindowBins> bins;
  for (const Window& window : windows) bins.push_back(bins_of(window, file.header().radial()));
  return bins;
}

// With all that is known before the patterns are read; what cells show is 0.
ScanMap empty_map(const PatternFile& file, const MapOptions& options, const std::vector<Window>& windows,
                  const ScanGrid& grid, const std::vector<std::uint32_t>& good_frames) {
  ScanMap map;
  map.rows = grid.rows();
  map.columns = grid.cols();
  const auto add_image = [&](std::string name, std::string title, std::string unit) {
    map.images.push_back({std::move(name), std::move(title), std::move(unit), row_axis(grid),
                          column_axis(grid), std::vector<double>(grid.cells(), 0)});
  };
  for (const Window& window : windows) {
    for (const MapValue value : options.values) {
      const ValueKind& kind = kind_of(value);
      add_image(fmt::format("{}_{}", window.name, kind.name), fmt::format("{}: {}", window.name, kind.title),
                kind.radial ? file.header().radial().units : "");
    }
  }
  add_image(kFramesImage, "frames in a cell", "");
  for (std::size_t cell = 0; cell < grid.cells(); ++cell) {
    const std::uint32_t frames = good_frames[cell];
    map.images.back().values[cell] = frames;
    map.frames += frames;
    map.empty_cells += frames == 0 ? 1 : 0;
    map.crowded_cells += frames > 1 ? 1 : 0;
  }
  map.left_out = file.frames() - map.frames;
  if (map.frames == 0)
    throw Error(ErrorKind::kInput, file.path().string(), "no cell has a good frame",
                "the output says of each why it is bad");
  return map;
}

// An output that grows has more frames for whoever opens it later.
void agree_on_frames(PatternFile& file, Ranks& ranks) {
  const std::uint64_t ours = file.frames();
  const auto bytes = std::as_bytes(std::span(&ours, 1));
  std::vector<std::byte> told(bytes.begin(), bytes.end());
  ranks.broadcast(told);
  together(ranks, [&] {
    std::uint64_t of_first = 0;
    std::memcpy(&of_first, told.data(), sizeof of_first);
    if (ours < of_first) {
      throw Error(ErrorKind::kInput, file.path().string(),
                  fmt::format("has {} for rank {}, and {} for rank 0", frame_count(ours), ranks.rank(),
                              frame_count(of_first)),
                  kOneFileForAll);
    }
    file.keep_first(of_first);
  });
}

// Values of cells are added up by their places: all ranks must mean the same ones.
void agree_on_cells(const PatternFile& file, const ScanMap& map, const std::vector<WindowBins>& windows,
                    const std::vector<std::uint32_t>& good_frames, Ranks& ranks) {
  Sha256 sight;
  sight.add_array(file.header().plan_hash);
  sight.add_array(file.header().date);
  for (const std::uint64_t number : {file.frames(), map.rows, map.columns}) sight.add_value(number);
  sight.add_array(good_frames);
  for (const GridImage& image : map.images) sight.add_array(image.name);
  const auto add_bins = [&](BinRange bins) { sight.add_array(std::array{bins.first, bins.end}); };
  for (const WindowBins& window : windows) {
    add_bins(window.peak);
    if (!window.sides) continue;
    add_bins(window.sides->first);
    add_bins(window.sides->second);
  }
  const std::string ours = sight.finish();
  const auto bytes = std::as_bytes(std::span(ours));
  std::vector<std::byte> told(bytes.begin(), bytes.end());
  ranks.broadcast(told);
  together(ranks, [&] {
    if (std::ranges::equal(bytes, told)) return;
    throw Error(ErrorKind::kInput, file.path().string(),
                fmt::format("rank {} sees another output or other windows than rank 0", ranks.rank()),
                kOneFileForAll);
  });
}

ScanMap make_shared_map(const PatternFile& file, const MapOptions& options, Ranks& ranks,
                        const std::stop_token& stop, const CellReader::Progress& on_progress) {
  const std::stop_callback pass_on(stop, [&ranks] { ranks.stop_all(); });
  ScanMap map;
  std::vector<WindowBins> bins;
  std::optional<ScanGrid> grid;
  std::optional<CellReader> reader;
  together(ranks, [&] {
    const std::vector<Window> windows = windows_or_all(options.windows, file.header().radial());
    bins = check_windows(file, options, windows);
    grid.emplace(find_grid(file, options.grid));
    reader.emplace(file, *grid);
    map = empty_map(file, options, windows, *grid, reader->good_frames());
  });
  agree_on_cells(file, map, bins, reader->good_frames(), ranks);

  // Each cell is made by one rank and is 0 in the others, so that the sum of their bits is the value.
  const std::shared_ptr<FrameDealer> dealer = ranks.deal(file.frames());
  const auto take = [&](std::size_t cell, std::span<const WindowValues> values) {
    std::size_t image = 0;
    for (const WindowValues& window : values) {
      for (const MapValue value : options.values)
        map.images[image++].values[cell] = window.*kind_of(value).field;
    }
  };
  const auto tell = [&](std::uint64_t frames) {
    ranks.tell({frames, 0});
    if (on_progress) on_progress(ranks.told().frames);
  };
  together(ranks, [&] {
    try {
      reader->read_windows(bins, detail_of(options.values), take, ranks.stopped(), tell, dealer.get());
    } catch (const Error&) {
      ranks.stop_all();  // the others need not finish
      throw;
    }
  });
  std::vector<std::int64_t> bits(grid->cells());
  for (GridImage& image : std::span(map.images).first(map.images.size() - 1)) {
    std::ranges::transform(image.values, bits.begin(), std::bit_cast<std::int64_t, double>);
    ranks.add_up(bits);
    for (std::size_t cell = 0; cell < bits.size(); ++cell) {
      const bool empty = reader->good_frames()[cell] == 0;
      image.values[cell] = empty ? kNothing : std::bit_cast<double>(bits[cell]);
    }
  }
  return map;
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
  return make_shared_map(file, options, *alone(), stop, on_progress);
}

ScanMap make_map(PatternFile& file, const MapOptions& options, Ranks& ranks, std::stop_token stop,
                 const CellReader::Progress& on_progress) {
  agree_on_frames(file, ranks);
  return make_shared_map(file, options, ranks, stop, on_progress);
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
