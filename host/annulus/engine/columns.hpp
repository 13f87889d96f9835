// What the options `column` and `monitor` mean.
#pragma once

#include <annulus/engine/config.hpp>
#include <annulus/sources/column_spec.hpp>
#include <annulus/sources/column_stream.hpp>
#include <annulus/sources/streams.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace annulus {

struct WantedColumns {
  std::vector<ColumnSpec> columns;  // the monitor's too, if it has a source of its own
  std::string monitor;              // the column that divides; empty: none
};

// A monitor is the name of a column, NAME=SOURCE, or SOURCE: then its column is called "monitor". Throws
// kUsage; a name that no column here has may be one of the stream's own.
WantedColumns parse_columns(const std::vector<std::string>& columns, const std::string& monitor);

// What the monitor is called in its table, file or header: those of other scans have it under the same name.
// Of the path of a dataset, what follows the entry, which is the scan. Empty without a monitor.
std::string monitor_of(const IntegrateConfig& config);

// Why patterns of runs with these stored configurations are not to be compared: "their monitors: I0 and
// none". Empty if nothing speaks against it, and for what is no configuration of this version.
std::string difference_of_division(const std::string& config_json, const std::string& other_json);

// Those that headers of frames hold, and those of tables, with what their reader has to know.
std::vector<HeaderColumn> header_columns(const WantedColumns& wanted);
ColumnSettings table_columns(const WantedColumns& wanted, const IntegrateConfig& config);

// The place of the monitor among the columns of a scan. Throws kUsage if there is none.
std::size_t find_monitor(const std::string& monitor, const std::vector<ColumnInfo>& columns);

// What divides the pattern of a frame: `shared` times what its monitor says.
struct FrameFactor {
  double value = 1;   // NaN if there is a fault
  std::string fault;  // why the monitor's value cannot divide
};
FrameFactor frame_factor(double shared, const std::string& monitor, double measured);

}  // namespace annulus
