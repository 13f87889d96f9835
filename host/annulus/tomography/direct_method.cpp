#include <annulus/core/parallel.hpp>
#include <annulus/tomography/fbp_method.hpp>
#include <annulus/tomography/gridding_kernel.hpp>
#include <annulus/tomography/lane_loops.hpp>
#include <annulus/tomography/tiles.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <span>
#include <vector>

namespace annulus {
namespace {

// For band-limited interpolation, projections are computed at every half step, and the kernel does the rest.
constexpr std::size_t kHalfSteps = 2;

// taps[d] for distances from -reach to reach.
class Taps {
 public:
  Taps(std::size_t reach, const std::function<double(std::ptrdiff_t distance)>& tap) : reach_(reach) {
    for (auto d = -static_cast<std::ptrdiff_t>(reach); d <= static_cast<std::ptrdiff_t>(reach); ++d)
      values_.push_back(tap(d));
  }

  // Into memory of that size. Returns the one of distance 0.
  const float* scaled(double factor, std::vector<float>& into) const {
    into.resize(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) into[i] = static_cast<float>(factor * values_[i]);
    return into.data() + reach_;
  }

 private:
  std::size_t reach_;
  std::vector<double> values_;
};

// One set of taps for each of the places that are computed between a position and the next.
std::vector<Taps> linear_taps(Filter filter, std::size_t length, std::size_t reach) {
  const std::vector<double> taps = filter_taps(filter, length, reach);
  return {Taps(reach, [&](std::ptrdiff_t d) { return taps[static_cast<std::size_t>(std::abs(d))]; })};
}

std::vector<Taps> band_taps(Filter filter, std::size_t length, std::size_t reach,
                            const GriddingKernel& kernel) {
  std::vector<double> spectrum = filter_spectrum(filter, length);
  for (std::size_t j = 0; j < spectrum.size(); ++j) {
    spectrum[j] /= kernel.spectrum(static_cast<double>(j) / static_cast<double>(kHalfSteps * length));
  }
  const std::vector<double> cosine = cosine_table(kHalfSteps * length);
  // At `half` half steps. The last frequency counts once, and vanishes between positions.
  const auto tap = [&](std::size_t half) {
    double sum = (spectrum.front() + spectrum.back() * cosine[length / 2 * half % cosine.size()]) / 2;
    for (std::size_t j = 1; j < length / 2; ++j) sum += spectrum[j] * cosine[j * half % cosine.size()];
    return 2 * sum / static_cast<double>(length);
  };
  std::vector<Taps> taps;
  for (std::ptrdiff_t phase = 0; phase < static_cast<std::ptrdiff_t>(kHalfSteps); ++phase) {
    taps.emplace_back(reach, [&](std::ptrdiff_t d) {
      return tap(static_cast<std::size_t>(std::abs(static_cast<std::ptrdiff_t>(kHalfSteps) * d + phase)));
    });
  }
  return taps;
}

class DirectMethod final : public FbpMethod {
 public:
  DirectMethod(const ScanGeometry& scan, const FbpOptions& options, std::size_t size)
      : scan_(scan),
        band_limited_(options.interpolation == Interpolation::kBandLimited),
        odd_taps_(!band_limited_ && (options.filter == Filter::kRamp || options.filter == Filter::kNone)),
        threads_(resolve_threads(options.threads)),
        range_(scan.axis, size, band_limited_ ? kBandMargin : 1),
        reach_(reach_of(range_, scan.positions)),
        turns_(scan, size),
        weights_(weigh_angles(scan.angles, options.weighting).weights),
        tiles_(tiles_of(Circle(size))),
        loops_(lane_loops(options.instruction_set)) {
    if (band_limited_) {
      const GriddingKernel kernel(kBandTaps, static_cast<double>(kHalfSteps));
      taps_ = band_taps(options.filter, band_length(reach_), reach_, kernel);
      kernel_ = kernel.table();
      turns_.stretch(static_cast<double>(kHalfSteps));
    } else {
      taps_ = linear_taps(options.filter, filter_length(scan.positions, reach_), reach_);
    }
  }

  std::size_t scratch_bytes() const override {
    const std::size_t filtered = scan_.angles.size() * projection_values();
    const std::size_t of_a_thread = scan_.positions * kBinLanes + 2 * reach_ + 1 + kTileValues;
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
  std::size_t projection_count() const { return range_.count * taps_.size(); }
  std::size_t projection_values() const { return projection_count() * kBinLanes; }

  void filter_projections(const SinogramView& sinogram, LargeVector<float>& filtered) const {
    parallel_ranges(scan_.angles.size(), threads_, [&](std::size_t begin, std::size_t end) {
      std::vector<float> lanes(scan_.positions * kBinLanes), scaled;
      for (std::size_t angle = begin; angle < end; ++angle) {
        for (std::size_t position = 0; position < scan_.positions; ++position) {
          std::copy_n(sinogram.at(angle, position), sinogram.bins, lanes.data() + position * kBinLanes);
        }
        float* const out = filtered.data() + angle * projection_values();
        for (std::size_t phase = 0; phase < taps_.size(); ++phase) {
          const float* const taps = taps_[phase].scaled(weights_[angle] / 2, scaled);
          loops_.filter({lanes.data(), scan_.positions, range_.first, range_.count, out + phase * kBinLanes,
                         taps_.size(), taps, odd_taps_});
        }
      }
    });
  }

  void back_project_tiles(const LargeVector<float>& filtered, const TomogramView& tomogram) const {
    for_each_tile(tiles_, threads_, [&](const Tile& tile, std::span<float> sums) {
      std::ranges::fill(sums, 0.0F);
      TileTask task = turns_.task(tile, filtered.data(), range_, sums.data());
      task.count = projection_count();
      if (band_limited_) task.kernel = kernel_.data();
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
  bool band_limited_, odd_taps_;
  unsigned threads_;
  ProjectionRange range_;
  std::size_t reach_;
  Turns turns_;
  std::vector<double> weights_;
  std::vector<Taps> taps_;
  std::vector<float> kernel_;
  std::vector<Tile> tiles_;
  const LaneLoops& loops_;
};

}  // namespace

std::size_t reach_of(const ProjectionRange& range, std::size_t positions) {
  const std::ptrdiff_t last = range.first + static_cast<std::ptrdiff_t>(range.count) - 1;
  return static_cast<std::size_t>(std::max(last, static_cast<std::ptrdiff_t>(positions) - 1 - range.first));
}

std::unique_ptr<const FbpMethod> make_direct_method(const ScanGeometry& scan, const FbpOptions& options,
                                                    std::size_t size) {
  return std::make_unique<DirectMethod>(scan, options, size);
}

}  // namespace annulus
