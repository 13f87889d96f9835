#include <annulus/core/parallel.hpp>
#include <annulus/tomography/fbp_method.hpp>
#include <annulus/tomography/lane_loops.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>
#include <vector>

namespace annulus {
namespace {

// Pixels of a tile in each direction. Its sums take 64 KiB.
constexpr std::size_t kTile = 16;

struct Tile {
  std::size_t top, left, rows, columns;
  std::vector<Circle::Span> spans;  // columns from `left` on
};

// Those that have a part of the circle.
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

// The largest distance of a value in the range from a measured one.
std::size_t reach_of(const ProjectionRange& range, std::size_t positions) {
  const std::ptrdiff_t last = range.first + static_cast<std::ptrdiff_t>(range.count) - 1;
  return static_cast<std::size_t>(std::max(last, static_cast<std::ptrdiff_t>(positions) - 1 - range.first));
}

class DirectMethod final : public FbpMethod {
 public:
  DirectMethod(const ScanGeometry& scan, const FbpOptions& options, std::size_t size)
      : scan_(scan),
        odd_taps_(options.filter == Filter::kRamp || options.filter == Filter::kNone),
        threads_(resolve_threads(options.threads)),
        range_(scan.axis, size),
        reach_(reach_of(range_, scan.positions)),
        centre_(static_cast<std::ptrdiff_t>(size / 2)),
        weights_(weigh_angles(scan.angles, options.weighting).weights),
        taps_(filter_taps(options.filter, filter_length(scan.positions, reach_), reach_)),
        tiles_(tiles_of(Circle(size))),
        loops_(lane_loops(options.instruction_set)) {
    for (const double angle : scan.angles) {
      // The same on all machines, see cosine_table().
      cosines_.push_back(static_cast<double>(std::cos(static_cast<long double>(angle))));
      sines_.push_back(static_cast<double>(std::sin(static_cast<long double>(angle))));
    }
  }

  std::size_t scratch_bytes() const override {
    const std::size_t filtered = scan_.angles.size() * projection_values();
    const std::size_t of_a_thread = scan_.positions * kBinLanes + 2 * reach_ + 1 + kTile * kTile * kBinLanes;
    return sizeof(float) * (filtered + threads_ * of_a_thread);
  }

  void reconstruct(const SinogramView& sinogram, const TomogramView& tomogram) const override {
    LargeVector<float> filtered(scan_.angles.size() * projection_values());
    for (std::size_t bin = 0; bin < sinogram.bins; bin += kBinLanes) {
      const std::size_t count = std::min(kBinLanes, sinogram.bins - bin);
      filter_projections(sinogram.bins_from(bin, count), filtered);
      back_project_tiles(filtered, tomogram.bins_from(bin, count));
    }
  }

 private:
  std::size_t projection_values() const { return range_.count * kBinLanes; }

  void filter_projections(const SinogramView& sinogram, LargeVector<float>& filtered) const {
    parallel_ranges(scan_.angles.size(), threads_, [&](std::size_t begin, std::size_t end) {
      std::vector<float> lanes(scan_.positions * kBinLanes), taps(2 * reach_ + 1);
      for (std::size_t angle = begin; angle < end; ++angle) {
        for (std::size_t position = 0; position < scan_.positions; ++position) {
          std::copy_n(sinogram.at(angle, position), sinogram.bins, lanes.data() + position * kBinLanes);
        }
        for (std::size_t d = 0; d <= reach_; ++d) {
          taps[reach_ + d] = taps[reach_ - d] = static_cast<float>(weights_[angle] / 2 * taps_[d]);
        }
        loops_.filter({lanes.data(), scan_.positions, range_.first, range_.count,
                       filtered.data() + angle * projection_values(), taps.data() + reach_, odd_taps_});
      }
    });
  }

  void back_project_tiles(const LargeVector<float>& filtered, const TomogramView& tomogram) const {
    std::atomic<std::size_t> next = 0;
    parallel_ranges(std::min<std::size_t>(threads_, tiles_.size()), threads_, [&](std::size_t, std::size_t) {
      LargeVector<float> sums(kTile * kTile * kBinLanes);
      for (std::size_t tile = next++; tile < tiles_.size(); tile = next++) {
        back_project_tile(tiles_[tile], filtered, sums);
        store_tile(tiles_[tile], sums, tomogram);
      }
    });
  }

  void back_project_tile(const Tile& tile, const LargeVector<float>& filtered,
                         LargeVector<float>& sums) const {
    std::ranges::fill(sums, 0.0F);
    loops_.back_project({filtered.data(), scan_.angles.size(), range_.count, cosines_.data(), sines_.data(),
                         scan_.axis - static_cast<double>(range_.first),
                         static_cast<std::ptrdiff_t>(tile.left) - centre_,
                         static_cast<std::ptrdiff_t>(tile.top) - centre_, tile.columns, tile.rows,
                         tile.spans.data(), sums.data()});
  }

  static void store_tile(const Tile& tile, const LargeVector<float>& sums, const TomogramView& tomogram) {
    for (std::size_t row = 0; row < tile.rows; ++row) {
      for (std::size_t column = tile.spans[row].begin; column < tile.spans[row].end; ++column) {
        std::copy_n(sums.data() + (row * tile.columns + column) * kBinLanes, tomogram.bins,
                    tomogram.at(tile.top + row, tile.left + column));
      }
    }
  }

  ScanGeometry scan_;
  bool odd_taps_;
  unsigned threads_;
  ProjectionRange range_;
  std::size_t reach_;
  std::ptrdiff_t centre_;
  std::vector<double> weights_, cosines_, sines_;
  std::vector<double> taps_;  // by distance
  std::vector<Tile> tiles_;
  const LaneLoops& loops_;
};

}  // namespace

std::unique_ptr<const FbpMethod> make_direct_method(const ScanGeometry& scan, const FbpOptions& options,
                                                    std::size_t size) {
  return std::make_unique<DirectMethod>(scan, options, size);
}

}  // namespace annulus
