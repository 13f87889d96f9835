#include <annulus/core/error.hpp>
#include <annulus/hdf5/handle.hpp>
#include <annulus/maps/cell_reader.hpp>
#include <annulus/outputs/stored_sums.hpp>
#include <annulus/plan/merge.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace annulus {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kNoCell = ~std::size_t{0};
constexpr std::uint64_t kValuesAtOnce = std::uint64_t{1} << 20;

// Background under a peak: straight between two side windows.
struct Line {
  double at_zero = 0, slope = 0;
  double at(double x) const { return at_zero + slope * x; }
};

WindowValues values_of(const Plan& plan, std::span<const FrameAndFactor> frames, const WindowBins& window,
                       WindowDetail detail) {
  const MergedBins peak = merge(plan, frames, window.peak);
  WindowValues values{peak.intensity, peak.error, kNoValue, kNoValue, kNoValue, kNoValue};
  Line line;
  if (window.sides) {
    const MergedBins left = merge(plan, frames, window.sides->first);
    const MergedBins right = merge(plan, frames, window.sides->second);
    line.slope = (right.intensity - left.intensity) / (right.centre - left.centre);
    line.at_zero = left.intensity - line.slope * left.centre;
    const double share = (peak.centre - left.centre) / (right.centre - left.centre);
    values.intensity -= (1 - share) * left.intensity + share * right.intensity;
    values.error = std::hypot(peak.error, (1 - share) * left.error, share * right.error);
  }
  if (detail == WindowDetail::kIntensity) return values;

  double mass = 0, moment = 0, second = 0;
  const double origin = plan.axes.front().centres[window.peak.first];
  for (std::size_t bin = window.peak.first; bin < window.peak.end; ++bin) {
    const double x = plan.axes.front().centres[bin];
    const double height = merge(plan, frames, {bin, bin + 1}).intensity - line.at(x);
    if (std::isnan(height)) continue;
    if (!(height <= values.maximum)) {
      values.maximum = height;
      values.maximum_at = x;
    }
    mass += height;
    moment += height * (x - origin);
    second += height * (x - origin) * (x - origin);
  }
  // Noise about an absent peak may have any centre: one outside the window is none.
  const double centre = moment / mass;
  const double spread = second / mass - centre * centre;
  const double extent = plan.axes.front().centres[window.peak.end - 1] - origin;
  if (mass > 0 && centre >= 0 && centre <= extent) {
    values.centre_of_mass = origin + centre;
    if (spread >= 0) values.width = std::sqrt(spread);
  }
  return values;
}

BinRange all_of(std::span<const WindowBins> windows) {
  BinRange all = windows.front().peak;
  const auto include = [&](BinRange bins) {
    all.first = std::min(all.first, bins.first);
    all.end = std::max(all.end, bins.end);
  };
  for (const WindowBins& window : windows) {
    include(window.peak);
    if (!window.sides) continue;
    include(window.sides->first);
    include(window.sides->second);
  }
  return all;
}

WindowBins relative_to(const WindowBins& window, std::size_t first) {
  const auto moved = [&](BinRange bins) { return BinRange{bins.first - first, bins.end - first}; };
  WindowBins relative{moved(window.peak)};
  if (window.sides) relative.sides = {moved(window.sides->first), moved(window.sides->second)};
  return relative;
}

}  // namespace

struct CellReader::Parts {
  const PatternFile& file;
  std::vector<double> factors;
  std::vector<std::uint32_t> good_frames;          // of each cell
  std::vector<std::size_t> lone_cell;              // of each frame that is alone in its cell
  std::vector<std::vector<std::uint32_t>> crowds;  // good frames of the other cells
  std::vector<std::size_t> crowded_cells;          // those cells
  std::optional<StoredSums> sums;

  Parts(const PatternFile& opened, const ScanGrid& grid) : file(opened) {
    if (file.header().axes.size() != 1) {
      throw Error(ErrorKind::kUsage, file.path().string(), "holds cakes",
                  "maps and tomograms are made of patterns: integrate without azimuthal bins");
    }
    const std::vector<bool> bad = file.read_bad(0, file.frames());
    factors = file.read_factors(0, file.frames());
    lone_cell.assign(file.frames(), kNoCell);
    good_frames.assign(grid.cells(), 0);
    for (std::size_t cell = 0; cell < grid.cells(); ++cell) {
      std::vector<std::uint32_t> good;
      for (const std::uint32_t frame : grid.frames_in(cell / grid.cols(), cell % grid.cols())) {
        if (!bad[frame]) good.push_back(frame);
      }
      good_frames[cell] = static_cast<std::uint32_t>(good.size());
      if (good.size() == 1) {
        lone_cell[good.front()] = cell;
      } else if (good.size() > 1) {
        crowds.push_back(std::move(good));
        crowded_cells.push_back(cell);
      }
    }
    const Hdf5Session scope;
    sums.emplace(file.path(), file.header());
  }
  ~Parts() {
    const Hdf5Session scope;
    sums.reset();
  }

  void check_stop(const std::stop_token& stop) const {
    if (stop.stop_requested()) throw Error(ErrorKind::kInterrupted, file.path().string(), "interrupted");
  }

  // Calls read(first, count) for pieces of the scan with frames that are alone, then crowd(cell, frames).
  // What a dealer deals are the frames, and behind them the crowds.
  template <typename Read, typename Crowd>
  void go_through(std::uint64_t at_once, const std::stop_token& stop, const Progress& on_progress,
                  FrameDealer* dealer, Read read, Crowd crowd) const {
    const std::uint64_t items = file.frames() + crowds.size();
    std::uint64_t done = 0;
    const auto step = [&](std::uint64_t frames) {
      done += frames;
      if (on_progress) on_progress(std::min(done, file.frames()));
      check_stop(stop);
    };
    const auto go_through_block = [&](FrameRange block) {
      const std::uint64_t frames_end = std::min(block.end, file.frames());
      for (std::uint64_t first = block.first; first < frames_end; first += at_once) {
        const std::uint64_t count = std::min(at_once, frames_end - first);
        const auto cells = std::span(lone_cell).subspan(first, count);
        const auto lone = static_cast<std::uint64_t>(
            std::ranges::count_if(cells, [](std::size_t cell) { return cell != kNoCell; }));
        if (lone > 0) read(first, count);
        step(lone);
      }
      for (std::uint64_t item = std::max(block.first, file.frames()); item < std::min(block.end, items);
           ++item) {
        const std::size_t i = item - file.frames();
        crowd(crowded_cells[i], crowds[i]);
        step(crowds[i].size());
      }
    };
    if (dealer == nullptr) return go_through_block({0, items});
    while (const std::optional<FrameRange> block = dealer->next()) {
      if (block->first >= items) break;
      go_through_block(*block);
    }
    check_stop(stop);  // nothing more is dealt then
  }

  // Some bins of frames that need not be neighbours, and their factors.
  struct Crowd {
    std::vector<Sums> sums;
    std::vector<FrameAndFactor> frames;
  };
  Crowd read_crowd(const std::vector<std::uint32_t>& frames, BinRange bins) const {
    Crowd crowd;
    const Hdf5Session scope;
    for (std::size_t i = 0; i < frames.size();) {
      std::size_t run = 1;
      while (i + run < frames.size() && frames[i + run] == frames[i] + run) ++run;
      std::ranges::move(sums->frames(frames[i], run, bins), std::back_inserter(crowd.sums));
      i += run;
    }
    for (std::size_t i = 0; i < frames.size(); ++i)
      crowd.frames.push_back({&crowd.sums[i], factors[frames[i]]});
    return crowd;
  }
};

CellReader::CellReader(const PatternFile& file, const ScanGrid& grid)
    : parts_(std::make_unique<const Parts>(file, grid)) {}
CellReader::~CellReader() = default;

const std::vector<std::uint32_t>& CellReader::good_frames() const { return parts_->good_frames; }

void CellReader::read_patterns(
    BinRange bins, const std::function<void(std::size_t cell, std::span<const double> intensity)>& take,
    std::stop_token stop, const Progress& on_progress) const {
  const Plan plan = part_of(*parts_->sums->job().plan, bins);
  const std::size_t width = bins.size();
  const std::uint64_t at_once = std::max<std::uint64_t>(1, kValuesAtOnce / width);
  std::vector<double> values;
  parts_->go_through(
      at_once, stop, on_progress, nullptr,
      [&](std::uint64_t first, std::uint64_t count) {
        values.resize(count * width);
        parts_->file.read_intensities(first, count, bins, values);
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t cell = parts_->lone_cell[first + i];
          if (cell != kNoCell) take(cell, std::span(values).subspan(i * width, width));
        }
      },
      [&](std::size_t cell, const std::vector<std::uint32_t>& frames) {
        const Parts::Crowd crowd = parts_->read_crowd(frames, bins);
        values.resize(width);
        for (std::size_t bin = 0; bin < width; ++bin)
          values[bin] = merge(plan, crowd.frames, {bin, bin + 1}).intensity;
        take(cell, std::span(values).first(width));
      });
}

void CellReader::read_windows(
    std::span<const WindowBins> windows, WindowDetail detail,
    const std::function<void(std::size_t cell, std::span<const WindowValues>)>& take, std::stop_token stop,
    const Progress& on_progress, FrameDealer* dealer) const {
  if (windows.empty()) return;
  const BinRange bins = all_of(windows);
  const Plan plan = part_of(*parts_->sums->job().plan, bins);
  std::vector<WindowBins> relative;
  for (const WindowBins& window : windows) relative.push_back(relative_to(window, bins.first));
  std::vector<WindowValues> values(windows.size());
  const auto take_cell = [&](std::size_t cell, std::span<const FrameAndFactor> frames) {
    for (std::size_t i = 0; i < relative.size(); ++i)
      values[i] = values_of(plan, frames, relative[i], detail);
    take(cell, values);
  };
  const std::uint64_t at_once = std::max<std::uint64_t>(1, kValuesAtOnce / bins.size());
  parts_->go_through(
      at_once, stop, on_progress, dealer,
      [&](std::uint64_t first, std::uint64_t count) {
        std::vector<Sums> sums;
        {
          const Hdf5Session scope;
          sums = parts_->sums->frames(first, count, bins);
        }
        for (std::size_t i = 0; i < count; ++i) {
          parts_->check_stop(stop);
          const FrameAndFactor frame{&sums[i], parts_->factors[first + i]};
          const std::size_t cell = parts_->lone_cell[first + i];
          if (cell != kNoCell) take_cell(cell, std::span(&frame, 1));
        }
      },
      [&](std::size_t cell, const std::vector<std::uint32_t>& frames) {
        take_cell(cell, parts_->read_crowd(frames, bins).frames);
      });
}

}  // namespace annulus
