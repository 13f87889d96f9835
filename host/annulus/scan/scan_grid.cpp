#include <annulus/core/error.hpp>
#include <annulus/scan/scan_grid.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace annulus {
namespace {

constexpr std::size_t kMostCells = std::size_t{1} << 25;
// A grid of which less is filled is none: every frame would have a row or a column to itself.
constexpr std::size_t kMostCellsPerFrame = 16;

Error grid_error(const std::string& what, const std::string& cure) {
  return Error(ErrorKind::kInput, "scan", what, cure);
}

}  // namespace

// Counts the frames of each cell, then puts them there.
class GridBuilder {
 public:
  static constexpr std::size_t kNoCell = ~std::size_t{0};

  GridBuilder(std::size_t rows, std::size_t cols) {
    grid_.rows_ = rows;
    grid_.cols_ = cols;
  }

  template <typename CellOf>
  ScanGrid fill(std::size_t frames, CellOf cell_of) {
    std::vector<std::size_t>& begins = grid_.begins_;
    begins.assign(grid_.cells() + 1, 0);
    for (std::size_t frame = 0; frame < frames; ++frame) {
      const std::size_t cell = cell_of(frame);
      if (cell == kNoCell) {
        grid_.left_out_.push_back(static_cast<std::uint32_t>(frame));
      } else {
        ++begins[cell + 1];
      }
    }
    grid_.empty_ = static_cast<std::size_t>(std::count(begins.begin() + 1, begins.end(), std::size_t{0}));
    grid_.doubled_ = static_cast<std::size_t>(
        std::count_if(begins.begin() + 1, begins.end(), [](std::size_t count) { return count > 1; }));
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    grid_.frames_.resize(begins.back());
    std::vector<std::size_t> next(begins.begin(), begins.end() - 1);
    for (std::size_t frame = 0; frame < frames; ++frame) {
      const std::size_t cell = cell_of(frame);
      if (cell != kNoCell) grid_.frames_[next[cell]++] = static_cast<std::uint32_t>(frame);
    }
    return std::move(grid_);
  }

 private:
  ScanGrid grid_;
};

ScanGrid grid_of_columns(ScanAxis slow, ScanAxis fast) {
  const std::size_t frames = slow.position_of.size();
  if (fast.position_of.size() != frames) {
    throw grid_error(fmt::format("column {} has {} values, column {} has {}", slow.column.name, frames,
                                 fast.column.name, fast.position_of.size()),
                     "both have one value per frame");
  }
  if (slow.size() > kMostCells / std::max<std::size_t>(fast.size(), 1) ||
      slow.size() * fast.size() > kMostCellsPerFrame * frames) {
    throw grid_error(fmt::format("{} positions of column {} and {} of column {} make {} cells for {} frames",
                                 slow.size(), slow.column.name, fast.size(), fast.column.name,
                                 static_cast<double>(slow.size()) * static_cast<double>(fast.size()), frames),
                     "choose the columns of the grid, or give a tolerance, or the step of a motor that was "
                     "moving");
  }
  GridBuilder builder(slow.size(), fast.size());
  ScanGrid grid = builder.fill(frames, [&](std::size_t frame) {
    const std::uint32_t row = slow.position_of[frame], col = fast.position_of[frame];
    if (row == ScanAxis::kNowhere || col == ScanAxis::kNowhere) return GridBuilder::kNoCell;
    return row * fast.size() + col;
  });
  if (grid.left_out().size() == frames) {
    throw grid_error(fmt::format("no frame has a value of both column {} and column {}", slow.column.name,
                                 fast.column.name),
                     "choose columns that were recorded together");
  }
  grid.slow_ = std::move(slow);
  grid.fast_ = std::move(fast);
  return grid;
}

double spread_in_cells(const ScanGrid& grid, std::span<const double> values,
                       const std::optional<double>& period) {
  double spread = 0;
  for (std::size_t cell = 0; cell < grid.cells(); ++cell) {
    const std::span<const std::uint32_t> frames = grid.frames_in(cell / grid.cols(), cell % grid.cols());
    double least = 0, most = 0;  // from the first
    for (const std::uint32_t frame : frames) {
      double distance = values[frame] - values[frames.front()];
      if (period) distance = std::remainder(distance, *period);
      least = std::min(least, distance);
      most = std::max(most, distance);
    }
    spread = std::max(spread, most - least);
  }
  return spread;
}

ScanGrid grid_of_shape(std::size_t frames, std::size_t rows, std::size_t cols, Zigzag zigzag) {
  if (rows == 0 || cols == 0 || rows > kMostCells / cols)
    throw Error(ErrorKind::kUsage, "scan", fmt::format("{} x {} cells make no map", rows, cols),
                "give its shape");
  if (frames == 0) throw grid_error("there are no frames", "reduce some first");
  if (frames > rows * cols) {
    throw grid_error(fmt::format("{} frames do not fit {} x {} cells", frames, rows, cols),
                     "check the shape of the scan");
  }
  GridBuilder builder(rows, cols);
  return builder.fill(frames, [&](std::size_t frame) {
    const std::size_t row = frame / cols, place = frame % cols;
    const bool odd = row % 2 == 1;
    const bool backwards =
        (zigzag == Zigzag::kOddReversed && odd) || (zigzag == Zigzag::kEvenReversed && !odd);
    return row * cols + (backwards ? cols - 1 - place : place);
  });
}

}  // namespace annulus
