// A tomogram in tiles: small enough that what they need of a projection stays in the cache.
#pragma once

#include <annulus/tomography/lane_loops.hpp>
#include <annulus/tomography/sinogram.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace annulus {

// Pixels in each direction. The sums of a tile take 64 KiB.
inline constexpr std::size_t kTile = 16;
inline constexpr std::size_t kTileValues = kTile * kTile * kBinLanes;

struct Tile {
  std::size_t top, left, rows, columns;
  std::vector<Circle::Span> spans;  // of each row: the columns, from `left` on, that are in the circle
};

// Those that have a part of the circle.
std::vector<Tile> tiles_of(const Circle& circle);

// Calls body(tile, sums) for each tile on one of the threads, with memory for kTileValues.
void for_each_tile(const std::vector<Tile>& tiles, unsigned threads,
                   const std::function<void(const Tile& tile, std::span<float> sums)>& body);

// Where projections lie over the pixels.
struct Turns {
  double axis;
  double values_per_step = 1;
  std::ptrdiff_t centre;
  std::vector<double> cosines, sines;
  std::vector<float> heights;  // by Joseph's rule

  Turns(const ScanGeometry& scan, std::size_t size);

  // Projections have so many values per step.
  void stretch(double factor);

  // Where the centre of the tomogram lies, counted from the first value of a projection.
  double origin(const ProjectionRange& range) const;

  // Of projections [angle][range.count][kBinLanes], by linear interpolation.
  TileTask task(const Tile& tile, const float* projections, const ProjectionRange& range, float* sums) const;
};

}  // namespace annulus
