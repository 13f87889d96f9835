// The grid of the scan whose patterns an output holds, and the waiting for more of them.
#pragma once

#include <annulus/outputs/reader.hpp>
#include <annulus/scan/scan_grid.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace annulus {

struct GridOptions {
  // By motors: names of columns of the output. Rows of the grid are positions of `slow`.
  std::string slow;
  std::string fast;
  AxisRule slow_rule;
  AxisRule fast_rule;
  // The option that sets the tolerance of each, for messages.
  std::string slow_tolerance = "slow_rule";
  std::string fast_tolerance = "fast_rule";

  // Without columns: rows x columns, line after line. None: the shape that the output has.
  struct GridShape {
    std::size_t rows = 0, columns = 0;
  };
  std::optional<GridShape> shape;
  Zigzag zigzag = Zigzag::kNone;
};

// A column of the output, one value per frame: NaN for bad frames, which have no say in where a scan went.
// Throws kUsage if there is no such column, with those that there are; kInput if no frame is good.
std::vector<double> motor_values(const PatternFile& file, const std::string& name, ColumnInfo& info);

// Of all rows that the file had when it was opened. Bad frames have no cell. Throws kUsage for columns that
// the output does not have, with those that it has; kInput as grid_of_columns() and grid_of_shape() do.
ScanGrid find_grid(const PatternFile& file, const GridOptions& options);

// An output that another process may be writing.
class FollowedOutput {
 public:
  FollowedOutput(std::filesystem::path path, std::chrono::duration<double> timeout);

  struct State {
    std::unique_ptr<PatternFile> file;  // with all frames of now
    bool complete = false;              // nobody writes it any more, or nothing came for the timeout
  };

  // Returns when the output has more frames than at the last call, or is complete. Waits for the output to
  // appear, and while it cannot be opened. Throws kInput if that lasts longer than the timeout, kInterrupted
  // once a stop is requested.
  State next(std::stop_token stop);

 private:
  std::filesystem::path path_;
  std::chrono::duration<double> timeout_;
  std::uint64_t seen_ = 0;
};

}  // namespace annulus
