#include <annulus/core/parallel.hpp>
#include <annulus/tomography/tiles.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

namespace annulus {

std::vector<Tile> tiles_of(const Circle& circle) {
  std::vector<Tile> tiles;
  for (std::size_t top = 0; top < circle.size(); top += kTile) {
    for (std::size_t left = 0; left < circle.size(); left += kTile) {
      Tile tile{top, left, std::min(kTile, circle.size() - top), std::min(kTile, circle.size() - left), {}};
      bool inside = false;
      for (std::size_t row = 0; row < tile.rows; ++row) {
        const Circle::Span span = circle.row(top + row);
        const std::size_t begin = std::clamp(span.begin, left, left + tile.columns) - left;
        const std::size_t end = std::clamp(span.end, left, left + tile.columns) - left;
        tile.spans.push_back({begin, end});
        inside = inside || begin < end;
      }
      if (inside) tiles.push_back(std::move(tile));
    }
  }
  return tiles;
}

void for_each_tile(const std::vector<Tile>& tiles, unsigned threads,
                   const std::function<void(const Tile& tile, std::span<float> sums)>& body) {
  std::atomic<std::size_t> next = 0;
  const std::size_t workers = std::min<std::size_t>(resolve_threads(threads), tiles.size());
  parallel_ranges(workers, threads, [&](std::size_t, std::size_t) {
    LargeVector<float> sums(kTileValues);
    for (std::size_t tile = next++; tile < tiles.size(); tile = next++) body(tiles[tile], sums);
  });
}

Turns::Turns(const ScanGeometry& scan, std::size_t size)
    : axis(scan.axis), centre(static_cast<std::ptrdiff_t>(size / 2)) {
  for (const double angle : scan.angles) {
    // The same on all machines, see cosine_table().
    cosines.push_back(static_cast<double>(std::cos(static_cast<long double>(angle))));
    sines.push_back(static_cast<double>(std::sin(static_cast<long double>(angle))));
    heights.push_back(static_cast<float>(1 / std::max(std::abs(cosines.back()), std::abs(sines.back()))));
  }
}

void Turns::stretch(double factor) {
  values_per_step *= factor;
  for (double& value : cosines) value *= factor;
  for (double& value : sines) value *= factor;
}

double Turns::origin(const ProjectionRange& range) const {
  return (axis - static_cast<double>(range.first)) * values_per_step;
}

TileTask Turns::task(const Tile& tile, const float* projections, const ProjectionRange& range,
                     float* sums) const {
  return {projections,
          cosines.size(),
          range.count,
          cosines.data(),
          sines.data(),
          nullptr,
          nullptr,
          origin(range),
          static_cast<std::ptrdiff_t>(tile.left) - centre,
          static_cast<std::ptrdiff_t>(tile.top) - centre,
          tile.columns,
          tile.rows,
          tile.spans.data(),
          sums};
}

}  // namespace annulus
