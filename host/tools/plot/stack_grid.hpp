// A scan, a cake, or an image, averaged down to the pixels of a picture.
#pragma once

#include <annulus/outputs/reader.hpp>
#include <annulus/plan/integration_options.hpp>
#include <annulus/scan/grid_image.hpp>

#include <cstddef>
#include <vector>

namespace annulus {

struct StackGrid {
  std::size_t rows = 0;         // from the first frame, or from the low end of the azimuth on
  std::size_t columns = 0;      // from the low end of the axis on
  std::vector<double> values;   // rows * columns; NaN where no value contributes
  std::vector<double> x_edges;  // columns + 1, in the unit of the axis
  std::vector<double> y_edges;  // rows + 1; frame i reaches from i - 0.5 to i + 0.5

  double at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
};

// At most `most_rows` x `most_columns` cells, each the mean of its share of frames and bins. Reads the file
// in blocks of bounded size. Bins whose centre is outside of `range` are left out.
StackGrid make_stack_grid(const PatternFile& file, Range range, std::size_t most_rows,
                          std::size_t most_columns);

// The same for one cake of a file, given as header.bins() values.
StackGrid make_cake_grid(const OutputHeader& header, const std::vector<double>& cake, Range range,
                         std::size_t most_rows, std::size_t most_columns);

// The same for an image over two axes.
StackGrid make_image_grid(const GridImage& image, std::size_t most_rows, std::size_t most_columns);

// Half way between positions, and as far beyond the ends. A single one reaches half of `single` to both
// sides.
std::vector<double> edges_between(const std::vector<double>& positions, double single);

// The value below which the given share of the finite values lies; NaN if there are none. `values` is
// reordered.
double quantile(std::vector<double>& values, double share);

}  // namespace annulus
