// Which frames of a scan fall into which cell of a map (two translations) or of a sinogram (angle x
// translation). Whoever fills the cells adds the sums of their frames and divides once.
#pragma once

#include <annulus/scan/scan_axis.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace annulus {

class ScanGrid {
 public:
  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  std::size_t cells() const { return rows_ * cols_; }

  // The frames in a cell, in the order of the scan; none if it is empty, several if a point was doubled.
  std::span<const std::uint32_t> frames_in(std::size_t row, std::size_t col) const {
    const std::size_t cell = row * cols_ + col;
    return std::span(frames_).subspan(begins_[cell], begins_[cell + 1] - begins_[cell]);
  }

  // Frames without a cell: a value was missing.
  const std::vector<std::uint32_t>& left_out() const { return left_out_; }

  std::size_t empty_cells() const { return empty_; }
  std::size_t doubled_cells() const { return doubled_; }  // with more than one frame

  // Where rows and columns are. Without positions if the grid was made from a shape.
  const ScanAxis& slow() const { return slow_; }
  const ScanAxis& fast() const { return fast_; }

 private:
  friend ScanGrid grid_of_columns(ScanAxis slow, ScanAxis fast);
  friend class GridBuilder;

  std::size_t rows_ = 0, cols_ = 0;
  std::vector<std::size_t> begins_;    // of each cell in frames_, and the end of the last
  std::vector<std::uint32_t> frames_;  // by cell
  std::vector<std::uint32_t> left_out_;
  std::size_t empty_ = 0, doubled_ = 0;
  ScanAxis slow_, fast_;
};

// How far apart, at most, frames of one cell are. Values are those of a motor, one per frame; with a period,
// round that. 0 if no cell has several frames.
double spread_in_cells(const ScanGrid& grid, std::span<const double> values,
                       const std::optional<double>& period = std::nullopt);

// From what two motors did, in whatever order: raster, interleaved, helical. Throws kInput if the axes are of
// different numbers of frames, if no frame has both values, or if so few cells would be filled that the axes
// cannot be those of a grid.
ScanGrid grid_of_columns(ScanAxis slow, ScanAxis fast);

enum class Zigzag {
  kNone,         // every line begins at the same end
  kOddReversed,  // the second line, the fourth, ... run backwards
  kEvenReversed  // the first line, the third, ...
};

// From a shape: `cols` frames per line, line after line. Fewer frames than cells leave cells empty at the
// end; more throw kInput.
ScanGrid grid_of_shape(std::size_t frames, std::size_t rows, std::size_t cols, Zigzag zigzag = Zigzag::kNone);

}  // namespace annulus
