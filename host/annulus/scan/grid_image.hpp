// An image over two axes: a map, a sinogram, a slice of a tomogram. What is stored and drawn of any of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace annulus {

struct ImageAxis {
  std::string name;
  std::string unit = {};          // empty: nobody says
  std::vector<double> positions;  // ascending, of the rows or columns; steps may be uneven
};

struct GridImage {
  std::string name;   // of the group in a file, such as "LaB6_110_intensity": letters, digits and underscores
  std::string title;  // for people
  std::string unit = {};
  ImageAxis rows;  // row 0 is at the lowest position
  ImageAxis columns;
  std::vector<double> values;  // [row][column], NaN where there is none

  double at(std::size_t row, std::size_t column) const {
    return values[row * columns.positions.size() + column];
  }
};

// What is wrong with an image, such as "its rows do not ascend"; empty for one that is as it is said above.
std::string fault_of(const GridImage& image);

}  // namespace annulus
