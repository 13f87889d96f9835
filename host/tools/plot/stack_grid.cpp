#include <tools/plot/stack_grid.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace annulus {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{32} << 20;

// How bins, or frames, go together to cells.
struct Cells {
  std::size_t first = 0;               // bin of the first cell
  std::vector<std::size_t> cell_of;    // by bin from there
  std::vector<std::size_t> beginning;  // first bin of each cell, and the end of the last

  std::size_t count() const { return beginning.size() - 1; }
};

Cells make_cells(std::size_t first, std::size_t bins, std::size_t most) {
  Cells cells{first, std::vector<std::size_t>(bins), {}};
  const std::size_t count = std::min(most, bins);
  for (std::size_t i = 0; i < bins; ++i) {
    cells.cell_of[i] = i * count / bins;
    if (i == 0 || cells.cell_of[i] != cells.cell_of[i - 1]) cells.beginning.push_back(first + i);
  }
  cells.beginning.push_back(first + bins);
  return cells;
}

// Bins whose centre is in the range.
Cells radial_cells(const Axis& radial, Range range, std::size_t most) {
  const std::vector<double>& axis = radial.centres;
  const auto inside = [&](double x) { return x >= range.low && x <= range.high; };
  const auto first = std::find_if(axis.begin(), axis.end(), inside);
  const auto last = std::find_if_not(first, axis.end(), inside);
  return make_cells(static_cast<std::size_t>(first - axis.begin()), static_cast<std::size_t>(last - first),
                    most);
}

std::vector<double> edges_of(const Cells& cells, const std::vector<double>& edges) {
  std::vector<double> result;
  for (const std::size_t bin : cells.beginning) result.push_back(edges[bin]);
  return result;
}

std::vector<double> edges_of(const Cells& cells, const Axis& axis) {
  std::vector<double> result;
  for (const std::size_t bin : cells.beginning) {
    result.push_back(axis.edges.size() == axis.bins() + 1 ? axis.edges[bin]
                                                          : axis.centres[std::min(bin, axis.bins() - 1)]);
  }
  return result;
}

// Means of what falls into the cells of a grid.
class CellMeans {
 public:
  CellMeans(std::size_t rows, const Cells& columns)
      : columns_(columns), sums_(rows * columns.count(), 0), counts_(sums_.size(), 0) {}

  // A line of bins, into a row of the grid.
  void add(std::size_t row, const double* line) {
    const std::size_t target = row * columns_.count();
    for (std::size_t bin = 0; bin < columns_.cell_of.size(); ++bin) {
      const double value = line[columns_.first + bin];
      if (!std::isfinite(value)) continue;
      sums_[target + columns_.cell_of[bin]] += value;
      ++counts_[target + columns_.cell_of[bin]];
    }
  }

  std::vector<double> means() const {
    std::vector<double> values(sums_.size());
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      values[i] = counts_[i] == 0 ? std::numeric_limits<double>::quiet_NaN() : sums_[i] / counts_[i];
    }
    return values;
  }

 private:
  const Cells& columns_;
  std::vector<double> sums_;
  std::vector<std::uint32_t> counts_;
};

}  // namespace

StackGrid make_stack_grid(const PatternFile& file, Range range, std::size_t most_rows,
                          std::size_t most_columns) {
  const Axis& radial = file.header().radial();
  const Cells columns = radial_cells(radial, range, most_columns);
  StackGrid grid;
  grid.rows = std::min<std::uint64_t>(most_rows, file.frames());
  grid.columns = columns.count();
  if (grid.rows == 0 || grid.columns == 0) return grid;
  grid.x_edges = edges_of(columns, radial);
  for (std::size_t row = 0; row <= grid.rows; ++row) {
    grid.y_edges.push_back(
        static_cast<double>(file.frames()) * static_cast<double>(row) / static_cast<double>(grid.rows) - 0.5);
  }
  CellMeans means(grid.rows, columns);
  const std::size_t bins = file.bins();
  const std::uint64_t block = std::max<std::size_t>(1, kBlockBytes / (bins * sizeof(double)));
  std::vector<double> rows;
  for (std::uint64_t begin = 0; begin < file.frames(); begin += block) {
    const std::uint64_t count = std::min(block, file.frames() - begin);
    rows.resize(count * bins);
    file.read_intensities(begin, count, rows);
    for (std::uint64_t i = 0; i < count; ++i) {
      means.add((begin + i) * grid.rows / file.frames(), rows.data() + i * bins);
    }
  }
  grid.values = means.means();
  return grid;
}

StackGrid make_cake_grid(const OutputHeader& header, const std::vector<double>& cake, Range range,
                         std::size_t most_rows, std::size_t most_columns) {
  const Axis &radial = header.radial(), &azimuths = header.axes.at(1);
  const Cells columns = radial_cells(radial, range, most_columns);
  const Cells rows = make_cells(0, azimuths.bins(), most_rows);
  StackGrid grid;
  grid.rows = rows.count();
  grid.columns = columns.count();
  if (grid.columns == 0) return grid;
  grid.x_edges = edges_of(columns, radial);
  grid.y_edges = edges_of(rows, azimuths);
  CellMeans means(grid.rows, columns);
  for (std::size_t i = 0; i < rows.cell_of.size(); ++i) {
    means.add(rows.cell_of[i], cake.data() + i * radial.bins());
  }
  grid.values = means.means();
  return grid;
}

std::vector<double> edges_between(const std::vector<double>& positions, double single) {
  const std::size_t count = positions.size();
  if (count == 1) return {positions[0] - single / 2, positions[0] + single / 2};
  std::vector<double> edges{positions[0] - (positions[1] - positions[0]) / 2};
  for (std::size_t i = 1; i < count; ++i) edges.push_back((positions[i - 1] + positions[i]) / 2);
  edges.push_back(positions[count - 1] + (positions[count - 1] - positions[count - 2]) / 2);
  return edges;
}

StackGrid make_image_grid(const GridImage& image, std::size_t most_rows, std::size_t most_columns) {
  const std::vector<double>&y = image.rows.positions, &x = image.columns.positions;
  // A line of a scan has square cells, as far as its positions tell.
  const auto single = [&](const std::vector<double>& other) {
    const bool comparable = image.rows.unit == image.columns.unit && other.size() > 1;
    return comparable ? (other.back() - other.front()) / static_cast<double>(other.size() - 1) : 1;
  };
  const Cells columns = make_cells(0, x.size(), most_columns), rows = make_cells(0, y.size(), most_rows);
  StackGrid grid;
  grid.rows = rows.count();
  grid.columns = columns.count();
  grid.x_edges = edges_of(columns, edges_between(x, single(y)));
  grid.y_edges = edges_of(rows, edges_between(y, single(x)));
  CellMeans means(grid.rows, columns);
  for (std::size_t i = 0; i < y.size(); ++i) means.add(rows.cell_of[i], image.values.data() + i * x.size());
  grid.values = means.means();
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
