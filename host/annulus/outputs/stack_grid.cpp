#include <annulus/outputs/stack_grid.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace annulus {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{32} << 20;

}  // namespace

StackGrid make_stack_grid(const PatternFile& file, Range range, std::size_t most_rows,
                          std::size_t most_columns) {
  const std::vector<double>& axis = file.header().axis;
  const std::vector<double>& edges = file.header().edges;
  const auto inside = [&](double x) { return x >= range.low && x <= range.high; };
  const auto first = static_cast<std::size_t>(std::find_if(axis.begin(), axis.end(), inside) - axis.begin());
  const auto last = static_cast<std::size_t>(
      std::find_if_not(axis.begin() + static_cast<std::ptrdiff_t>(first), axis.end(), inside) - axis.begin());

  StackGrid grid;
  grid.rows = std::min<std::uint64_t>(most_rows, file.frames());
  grid.columns = std::min(most_columns, last - first);
  if (grid.rows == 0 || grid.columns == 0) return grid;
  const auto edge = [&](std::size_t bin) {
    return edges.size() == axis.size() + 1 ? edges[bin] : axis[std::min(bin, axis.size() - 1)];
  };
  std::vector<std::size_t> column_of(last - first);
  for (std::size_t i = 0; i < column_of.size(); ++i) column_of[i] = i * grid.columns / column_of.size();
  for (std::size_t i = 0; i < column_of.size(); ++i) {
    if (i == 0 || column_of[i] != column_of[i - 1]) grid.x_edges.push_back(edge(first + i));
  }
  grid.x_edges.push_back(edge(last));

  std::vector<double> sums(grid.rows * grid.columns, 0);
  std::vector<std::uint32_t> counts(grid.rows * grid.columns, 0);
  const std::size_t bins = file.bins();
  const std::uint64_t block = std::max<std::size_t>(1, kBlockBytes / (bins * sizeof(double)));
  std::vector<double> rows;
  for (std::uint64_t begin = 0; begin < file.frames(); begin += block) {
    const std::uint64_t count = std::min(block, file.frames() - begin);
    rows.resize(count * bins);
    file.read_intensities(begin, count, rows);
    for (std::uint64_t i = 0; i < count; ++i) {
      const double* values = rows.data() + i * bins + first;
      const std::size_t target = (begin + i) * grid.rows / file.frames() * grid.columns;
      for (std::size_t bin = 0; bin < column_of.size(); ++bin) {
        if (!std::isfinite(values[bin])) continue;
        sums[target + column_of[bin]] += values[bin];
        ++counts[target + column_of[bin]];
      }
    }
  }
  grid.values.resize(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    grid.values[i] = counts[i] == 0 ? std::numeric_limits<double>::quiet_NaN() : sums[i] / counts[i];
  }
  return grid;
}

double quantile(std::vector<double>& values, double share) {
  const auto end = std::partition(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  const auto count = end - values.begin();
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto nth = values.begin() + std::clamp<std::ptrdiff_t>(
                                        std::llround(share * static_cast<double>(count - 1)), 0, count - 1);
  std::nth_element(values.begin(), nth, end);
  return *nth;
}

}  // namespace annulus
