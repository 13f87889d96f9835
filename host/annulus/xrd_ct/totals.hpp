// One number per cell, of all bins: from these the axis of rotation is found and the beam's strength.
//
// Cells must be comparable. Where bins have a value in some cells only, because pixels are invalid there, the
// sum of what a cell has would jump. So only bins that have a value in every cell that was measured are
// added. To know which these are takes a reading of all cells; if there were gaps, a second one sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace annulus {

class CellTotals {
 public:
  CellTotals(std::size_t cells, std::size_t bins);

  // First reading, of every cell: NaN where a bin has no value.
  void take(std::size_t cell, std::span<const double> pattern);

  // After it. Whether all cells have to be given to take_again().
  bool need_another_reading();
  void take_again(std::size_t cell, std::span<const double> pattern);

  // Of each cell, NaN if it has no value.
  std::span<const double> values() const { return totals_; }

  std::size_t bins_with_values() const;  // in any cell
  // Bins that count. None: no bin has a value in every cell. A total is then what a cell has, divided by what
  // the mean pattern has in the same bins, and times the mean pattern.
  std::size_t bins_that_count() const;

 private:
  std::vector<double> totals_;
  std::vector<double> bin_sums_;
  std::vector<std::uint64_t> bin_cells_;  // with a value
  std::vector<std::uint8_t> counts_;      // of each bin: whether it does
  std::uint64_t measured_ = 0;            // cells with any value
};

}  // namespace annulus
