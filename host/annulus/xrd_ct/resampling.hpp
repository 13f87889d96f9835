// The projections that are reconstructed, at even positions, from those that were measured.
//
// Where a cell has no value, and where positions are uneven, a value is interpolated linearly between the
// nearest ones of the same projection; beyond the outermost of these, it is the outermost. What can do
// without some cells gets NaN instead where there is no value nearby.
#pragma once

#include <annulus/tomography/sinogram.hpp>
#include <annulus/xrd_ct/measured_scan.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace annulus {

// A projection with values at fewer of its positions is left out: most of it would be made up.
inline constexpr double kLeastMeasured = 0.5;

enum class Gaps { kFill, kLeave };

class Resampling {
 public:
  // totals: of each cell of the grid a finite value, NaN if it has none. Throws kInput if projections of two
  // directions or more do not remain.
  Resampling(const MeasuredScan& scan, std::span<const double> totals);

  // Rows of the grid that remain.
  const std::vector<std::size_t>& rows() const { return rows_; }
  std::size_t left_out() const { return left_out_; }  // others, but for an unfinished one
  std::size_t cells_without_value() const { return without_value_; }

  // From all rows of the grid to those that remain, in place.
  void apply(Sinogram& sinogram, unsigned threads, Gaps gaps = Gaps::kFill) const;

 private:
  struct Neighbours {
    std::uint32_t left, right;
    double part;   // of the right one
    bool made_up;  // they are further away than the next position
  };
  std::vector<Neighbours> neighbours_in(const MeasuredScan& scan, std::size_t row,
                                        const std::vector<std::uint32_t>& known) const;

  std::vector<std::size_t> rows_;
  std::vector<std::vector<Neighbours>> neighbours_;  // of each remaining row; empty where nothing changes
  std::size_t left_out_ = 0, without_value_ = 0;
};

}  // namespace annulus
