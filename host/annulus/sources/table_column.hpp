// A column of a table with one row per frame of the scan: of a CSV file, or a dataset of an HDF5 file.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/sources/column_spec.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace annulus {

class TableColumn {
 public:
  explicit TableColumn(ColumnInfo info) : info_(std::move(info)) {}
  virtual ~TableColumn() = default;

  const ColumnInfo& info() const { return info_; }
  std::uint64_t rows() const { return values_.size(); }
  double at(std::uint64_t row) const { return values_[row]; }  // NaN where a value is missing

  // The sides of a dataset of several dimensions, the last one fastest; otherwise one, the number of rows.
  virtual std::vector<std::uint64_t> shape() const { return {rows()}; }

  // Looks for rows that were not there before: true if there are. Throws kInput for what cannot be a value.
  virtual bool grow() = 0;

  // Nobody waits any longer: what is there counts, even if it looks unfinished.
  virtual void finish() = 0;

 protected:
  ColumnInfo info_;
  std::vector<double> values_;
};

// More rows than any scan has: what a file claims beyond is not believed.
inline constexpr std::uint64_t kMostRows = std::uint64_t{1} << 26;

// A growing one may still be written: a last line without its end, and values at the end of a dataset that
// are NaN, are not there yet. Throws kInput for a file that cannot be read, kUsage if it has no such column.
std::unique_ptr<TableColumn> open_csv_column(const ColumnSpec& spec, bool growing);
std::unique_ptr<TableColumn> open_hdf5_column(const ColumnSpec& spec, bool growing,
                                              const std::string& allow_links);

// Either, as the specification says.
std::unique_ptr<TableColumn> open_column(const ColumnSpec& spec, bool growing,
                                         const std::string& allow_links);

// What a probe does that is asked for a column (hdf5/probe.hpp).
inline constexpr const char* kProbeColumn = "column";
void touch_column(const std::vector<std::string>& request);

}  // namespace annulus
