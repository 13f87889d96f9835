// Two-dimensional arrays in row order: images, masks, maps of corrections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace annulus {

struct Shape {
  std::uint32_t rows = 0;  // slow dimension, NumPy's shape[0]
  std::uint32_t cols = 0;  // fast dimension, NumPy's shape[1]

  std::size_t size() const { return std::size_t{rows} * cols; }
  bool operator==(const Shape&) const = default;
};

// "1679 x 1475", rows first.
inline std::string to_string(Shape shape) {
  return std::to_string(shape.rows) + " x " + std::to_string(shape.cols);
}

template <typename T>
struct Image {
  Shape shape;
  std::vector<T> pixels;  // shape.size() of them

  const T& at(std::uint32_t row, std::uint32_t col) const {
    return pixels[std::size_t{row} * shape.cols + col];
  }
  T& at(std::uint32_t row, std::uint32_t col) { return pixels[std::size_t{row} * shape.cols + col]; }
};

// 1 = the pixel is excluded, as in pyFAI.
using Mask = Image<std::uint8_t>;

}  // namespace annulus
