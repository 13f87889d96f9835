// Maps: an image per window over two motors, from the patterns of an output; also while it grows.
#pragma once

#include <annulus/maps/cell_reader.hpp>
#include <annulus/maps/output_grid.hpp>
#include <annulus/maps/window.hpp>
#include <annulus/ranks/ranks.hpp>
#include <annulus/scan/grid_image.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

// What a map shows of a window.
enum class MapValue { kIntensity, kError, kCentre, kWidth, kMaximum, kMaximumAt };

// "intensity", "error", "centre", "width", "maximum", "place"
std::string_view name_of(MapValue value);
std::optional<MapValue> map_value_from_name(std::string_view name);

struct MapOptions {
  GridOptions grid;
  std::vector<Window> windows;  // none: one window, all of the pattern
  std::vector<MapValue> values = {MapValue::kIntensity};
};

struct ScanMap {
  std::vector<GridImage> images;  // NAME_VALUE for each window and value, and the number of frames in a cell
  std::uint64_t frames = 0;       // in cells
  std::uint64_t left_out = 0;     // bad ones, and those without a position
  std::size_t rows = 0, columns = 0;
  std::size_t empty_cells = 0;
  std::size_t crowded_cells = 0;  // of several frames
};

// The last image of a map.
inline constexpr const char* kFramesImage = "frames_in_cell";

// Throws what find_grid(), bins_of() and CellReader do; kUsage for errors of an output that has none.
ScanMap make_map(const PatternFile& file, const MapOptions& options, std::stop_token stop = {},
                 const CellReader::Progress& on_progress = {});

// The same by several ranks, which all call it: the first has the map. Each cell is made by one of them. Of
// an output that grows, all keep the frames that the first found. Throws FailedTogether in all, also if
// another sees fewer frames, another output or other windows.
ScanMap make_map(PatternFile& file, const MapOptions& options, Ranks& ranks, std::stop_token stop = {},
                 const CellReader::Progress& on_progress = {});

// Axes of images over a grid: the positions of its motors, or the numbers of lines and points.
ImageAxis row_axis(const ScanGrid& grid);
ImageAxis column_axis(const ScanGrid& grid);

// Calls `take` with the map of all frames, each time that there are more, and once more when the scan is
// complete; so the last map is that of the finished file. A beginning that makes no map yet, because a motor
// has not moved, is waited out.
void follow_map(FollowedOutput& output, const MapOptions& options,
                const std::function<void(const ScanMap& map, const PatternFile& file, bool complete)>& take,
                std::stop_token stop);

}  // namespace annulus
