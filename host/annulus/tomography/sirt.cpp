#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/tomography/lane_loops.hpp>
#include <annulus/tomography/sirt.hpp>
#include <annulus/tomography/tiles.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace annulus {
namespace {

using Lanes = std::array<double, kBinLanes>;

// 64 bins on their way.
struct Block {
  LargeVector<float> measured;   // [angle][position][lane], NaN where nothing was measured
  LargeVector<float> pixels;     // [y][x][lane]
  LargeVector<float> residuals;  // [angle][range][lane]
  std::array<float, kBinLanes> active{};
  std::array<SirtReport, kBinLanes> reports{};
};

float inverse(double sum) { return sum > 0 ? static_cast<float>(1 / sum) : 0.0F; }

}  // namespace

struct Sirt::Parts {
  ScanGeometry scan;
  SirtOptions options;
  std::size_t size;
  unsigned threads;
  ProjectionRange range;
  Circle circle;
  Turns turns;
  std::vector<Tile> tiles;
  std::vector<float> row_inverse;     // [angle][position]: R
  std::vector<float> column_inverse;  // [y][x]: C
  const LaneLoops& loops;

  Parts(const ScanGeometry& of, const SirtOptions& how)
      : scan(of),
        options(how),
        size(checked_size(of, how.size)),
        threads(resolve_threads(how.threads)),
        range(of.axis, size),
        circle(size),
        turns(of, size),
        tiles(tiles_of(circle)),
        loops(lane_loops(how.instruction_set)) {
    sum_rows_and_columns();
  }

  // Where the pixel x = 0 of a row lies in the range, at an angle.
  double row_start(std::size_t angle, std::size_t y) const {
    const double dy = static_cast<double>(static_cast<std::ptrdiff_t>(y) - turns.centre);
    return turns.axis - static_cast<double>(range.first) - dy * turns.sines[angle] -
           static_cast<double>(turns.centre) * turns.cosines[angle];
  }

  // The place in the range of a position that is measured, or of none.
  bool is_measured(std::size_t place) const {
    const std::ptrdiff_t position = range.first + static_cast<std::ptrdiff_t>(place);
    return position >= 0 && position < static_cast<std::ptrdiff_t>(scan.positions);
  }

  void sum_rows_and_columns() {
    std::vector<double> columns(size * size);
    row_inverse.resize(scan.angles.size() * scan.positions);
    for (std::size_t angle = 0; angle < scan.angles.size(); ++angle) {
      std::vector<double> rows(range.count);
      const double height = turns.heights[angle];
      for (std::size_t y = 0; y < size; ++y) {
        for (std::size_t x = circle.row(y).begin; x < circle.row(y).end; ++x) {
          const double t = row_start(angle, y) + static_cast<double>(x) * turns.cosines[angle];
          const auto before = static_cast<std::size_t>(t);
          const double part = t - static_cast<double>(before);
          const double here = std::max(0.0, height - part * height * height);
          const double next = std::max(0.0, height - (1 - part) * height * height);
          rows[before] += here;
          rows[before + 1] += next;
          columns[y * size + x] += (is_measured(before) ? here : 0) + (is_measured(before + 1) ? next : 0);
        }
      }
      for (std::size_t place = 0; place < range.count; ++place) {
        if (!is_measured(place)) continue;
        const auto position = static_cast<std::size_t>(range.first + static_cast<std::ptrdiff_t>(place));
        row_inverse[angle * scan.positions + position] = inverse(rows[place]);
      }
    }
    column_inverse.resize(columns.size());
    std::ranges::transform(columns, column_inverse.begin(), inverse);
  }

  void load(const SinogramView& sinogram, Block& block) const;
  Lanes project(Block& block) const;
  Lanes project_angle(const Block& block, std::size_t angle, float* projection) const;
  void improve(Block& block) const;
  void run(Block& block, const std::stop_token& stop) const;
  void store(const Block& block, const TomogramView& tomogram) const;
};

void Sirt::Parts::load(const SinogramView& sinogram, Block& block) const {
  std::ranges::fill(block.measured, 0.0F);
  for (std::size_t cell = 0; cell < scan.angles.size() * scan.positions; ++cell) {
    std::copy_n(sinogram.values + cell * sinogram.stride, sinogram.bins,
                block.measured.data() + cell * kBinLanes);
  }
  std::ranges::fill(block.pixels, 0.0F);
  block.reports.fill({});
  block.active.fill(0);
  std::fill_n(block.active.begin(), sinogram.bins, 1.0F);
}

// Residuals of one angle, R (b - A x); and what |b - A x|^2 has of them.
Lanes Sirt::Parts::project_angle(const Block& block, std::size_t angle, float* projection) const {
  std::fill_n(projection, range.count * kBinLanes, 0.0F);
  for (std::size_t y = 0; y < size; ++y) {
    loops.project_row({block.pixels.data() + y * size * kBinLanes, circle.row(y).begin, circle.row(y).end,
                       row_start(angle, y), turns.cosines[angle], turns.heights[angle], projection});
  }
  Lanes misfit{};
  for (std::size_t place = 0; place < range.count; ++place) {
    float* const value = projection + place * kBinLanes;
    if (!is_measured(place)) {
      std::fill_n(value, kBinLanes, 0.0F);
      continue;
    }
    const auto position = static_cast<std::size_t>(range.first + static_cast<std::ptrdiff_t>(place));
    const std::size_t cell = angle * scan.positions + position;
    for (std::size_t lane = 0; lane < kBinLanes; ++lane) {
      const float lacking = block.measured[cell * kBinLanes + lane] - value[lane];
      const float known = std::isnan(lacking) ? 0.0F : lacking;
      misfit[lane] += static_cast<double>(known) * known;
      value[lane] = known * row_inverse[cell];
    }
  }
  return misfit;
}

Lanes Sirt::Parts::project(Block& block) const {
  std::vector<Lanes> of_angles(scan.angles.size());
  parallel_ranges(scan.angles.size(), threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t angle = begin; angle < end; ++angle) {
      of_angles[angle] =
          project_angle(block, angle, block.residuals.data() + angle * range.count * kBinLanes);
    }
  });
  Lanes misfit{};
  for (const Lanes& of_angle : of_angles) {
    for (std::size_t lane = 0; lane < kBinLanes; ++lane) misfit[lane] += of_angle[lane];
  }
  for (double& value : misfit) value = std::sqrt(value);
  return misfit;
}

void Sirt::Parts::improve(Block& block) const {
  for_each_tile(tiles, threads, [&](const Tile& tile, std::span<float> sums) {
    std::ranges::fill(sums, 0.0F);
    TileTask task = turns.task(tile, block.residuals.data(), range, sums.data());
    task.heights = turns.heights.data();
    loops.back_project(task);
    for (std::size_t row = 0; row < tile.rows; ++row) {
      for (std::size_t column = tile.spans[row].begin; column < tile.spans[row].end; ++column) {
        const std::size_t place = (tile.top + row) * size + tile.left + column;
        const float* const sum = sums.data() + (row * tile.columns + column) * kBinLanes;
        float* const pixel = block.pixels.data() + place * kBinLanes;
        for (std::size_t lane = 0; lane < kBinLanes; ++lane) {
          const float better = pixel[lane] + sum[lane] * column_inverse[place] * block.active[lane];
          pixel[lane] = better > 0 ? better : 0;
        }
      }
    }
  });
}

void Sirt::Parts::run(Block& block, const std::stop_token& stop) const {
  Lanes all{}, before{};
  for (std::size_t iteration = 0;; ++iteration) {
    if (stop.stop_requested()) throw Error(ErrorKind::kInterrupted, "the reconstruction", "interrupted");
    const Lanes misfit = project(block);
    bool any = false;
    for (std::size_t lane = 0; lane < kBinLanes; ++lane) {
      if (iteration == 0) all[lane] = misfit[lane];  // x is 0: |b|
      if (block.active[lane] == 0) continue;
      block.reports[lane] = {iteration, all[lane] > 0 ? misfit[lane] / all[lane] : 0};
      const bool better = iteration == 0 || before[lane] - misfit[lane] > options.tolerance * before[lane];
      if (iteration == options.iterations || !better || misfit[lane] == 0) block.active[lane] = 0;
      any = any || block.active[lane] != 0;
    }
    if (!any) return;
    before = misfit;
    improve(block);
  }
}

void Sirt::Parts::store(const Block& block, const TomogramView& tomogram) const {
  for (std::size_t y = 0; y < size; ++y) {
    for (std::size_t x = 0; x < size; ++x) {
      std::copy_n(block.pixels.data() + (y * size + x) * kBinLanes, tomogram.bins, tomogram.at(y, x));
    }
  }
}

namespace {

void check_options(const SirtOptions& options) {
  if (options.iterations == 0) {
    throw Error(ErrorKind::kUsage, "`iterations`", "0 iterations leave the tomogram empty", "give 1 or more");
  }
  if (!(options.tolerance >= 0 && options.tolerance < 1)) {
    throw Error(ErrorKind::kUsage, "`tolerance`", fmt::format("{} is no part of a misfit", options.tolerance),
                "give a number from 0 to less than 1");
  }
}

}  // namespace

Sirt::Sirt(const ScanGeometry& scan, const SirtOptions& options) {
  check_options(options);
  parts_ = std::make_unique<const Parts>(scan, options);
}

Sirt::~Sirt() = default;

std::size_t Sirt::size() const { return parts_->size; }

BlockMemory Sirt::memory(const ScanGeometry& scan, const SirtOptions& options) {
  check_options(options);
  const std::size_t size = checked_size(scan, options.size);
  const std::size_t cells = scan.angles.size() * scan.positions, pixels = size * size;
  const std::size_t residuals = scan.angles.size() * ProjectionRange(scan.axis, size).count;
  const std::size_t lanes =
      kBinLanes * (cells + pixels + residuals) + resolve_threads(options.threads) * kTileValues;
  return {sizeof(float) * (lanes + cells + pixels), sizeof(float) * (cells + pixels)};
}

std::vector<SirtReport> Sirt::reconstruct(const SinogramView& sinogram, const TomogramView& tomogram,
                                          const std::stop_token& stop) const {
  check_shapes(parts_->scan, sinogram, tomogram, parts_->size);
  check_finite(sinogram, MissingCells::kAllowed);
  const std::size_t angles = parts_->scan.angles.size();
  Block block;
  block.measured.resize(angles * parts_->scan.positions * kBinLanes);
  block.pixels.resize(parts_->size * parts_->size * kBinLanes);
  block.residuals.resize(angles * parts_->range.count * kBinLanes);
  std::vector<SirtReport> reports;
  for (std::size_t bin = 0; bin < sinogram.bins; bin += kBinLanes) {
    const std::size_t count = std::min(kBinLanes, sinogram.bins - bin);
    parts_->load(sinogram.bins_from(bin, count), block);
    parts_->run(block, stop);
    parts_->store(block, tomogram.bins_from(bin, count));
    reports.insert(reports.end(), block.reports.begin(),
                   block.reports.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return reports;
}

}  // namespace annulus
