#include <annulus/core/parallel.hpp>
#include <annulus/tomography/direct_setup.hpp>
#include <annulus/tomography/fbp_method.hpp>
#include <annulus/tomography/lane_loops.hpp>
#include <annulus/tomography/tiles.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace annulus {
namespace {

class DirectMethod final : public FbpMethod {
 public:
  DirectMethod(const ScanGeometry& scan, const FbpOptions& options, std::size_t size)
      : scan_(scan),
        setup_(scan, options, size),
        threads_(resolve_threads(options.threads)),
        tiles_(tiles_of(Circle(size))),
        loops_(lane_loops(options.instruction_set)) {}

  std::size_t scratch_bytes() const override {
    const std::size_t filtered = scan_.angles.size() * projection_values();
    const std::size_t of_a_thread = scan_.positions * kBinLanes + 2 * setup_.reach + 1 + kTileValues;
    return sizeof(float) * (filtered + threads_ * of_a_thread);
  }

  void reconstruct(const SinogramView& sinogram, const TomogramView& tomogram,
                   const std::stop_token& stop) const override {
    LargeVector<float> filtered(scan_.angles.size() * projection_values());
    for (std::size_t bin = 0; bin < sinogram.bins && !stop.stop_requested(); bin += kBinLanes) {
      const std::size_t count = std::min(kBinLanes, sinogram.bins - bin);
      filter_projections(sinogram.bins_from(bin, count), filtered);
      back_project_tiles(filtered, tomogram.bins_from(bin, count), stop);
    }
  }

 private:
  std::size_t projection_values() const { return setup_.projection_count() * kBinLanes; }

  void filter_projections(const SinogramView& sinogram, LargeVector<float>& filtered) const {
    parallel_ranges(scan_.angles.size(), threads_, [&](std::size_t begin, std::size_t end) {
      std::vector<float> lanes(scan_.positions * kBinLanes), scaled;
      for (std::size_t angle = begin; angle < end; ++angle) {
        for (std::size_t position = 0; position < scan_.positions; ++position) {
          std::copy_n(sinogram.at(angle, position), sinogram.bins, lanes.data() + position * kBinLanes);
        }
        float* const out = filtered.data() + angle * projection_values();
        for (std::size_t phase = 0; phase < setup_.taps.size(); ++phase) {
          const float* const taps = setup_.taps[phase].scaled(setup_.weights[angle] / 2, scaled);
          loops_.filter({lanes.data(), scan_.positions, setup_.range.first, setup_.range.count,
                         out + phase * kBinLanes, setup_.taps.size(), taps, setup_.odd_taps});
        }
      }
    });
  }

  void back_project_tiles(const LargeVector<float>& filtered, const TomogramView& tomogram,
                          const std::stop_token& stop) const {
    for_each_tile(tiles_, threads_, [&](const Tile& tile, std::span<float> sums) {
      if (stop.stop_requested()) return;
      std::ranges::fill(sums, 0.0F);
      TileTask task = setup_.turns.task(tile, filtered.data(), setup_.range, sums.data());
      task.count = setup_.projection_count();
      if (setup_.band_limited) task.kernel = setup_.kernel.data();
      loops_.back_project(task);
      for (std::size_t row = 0; row < tile.rows; ++row) {
        for (std::size_t column = tile.spans[row].begin; column < tile.spans[row].end; ++column) {
          std::copy_n(sums.data() + (row * tile.columns + column) * kBinLanes, tomogram.bins,
                      tomogram.at(tile.top + row, tile.left + column));
        }
      }
    });
  }

  ScanGeometry scan_;
  DirectSetup setup_;
  unsigned threads_;
  std::vector<Tile> tiles_;
  const LaneLoops& loops_;
};

}  // namespace

std::unique_ptr<const FbpMethod> make_direct_method(const ScanGeometry& scan, const FbpOptions& options,
                                                    std::size_t size) {
  return std::make_unique<DirectMethod>(scan, options, size);
}

}  // namespace annulus
