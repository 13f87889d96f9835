// Two-dimensional arrays in row order: images, masks, maps of corrections; and the types that a pixel may
// have in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

enum class PixelType : std::uint8_t { kU8, kU16, kU32, kU64, kI8, kI16, kI32, kI64, kF32, kF64 };

std::size_t size_of(PixelType type);
bool is_float(PixelType type);

// NumPy's names: "uint8", ..., "int32", ..., "float64".
std::string_view name_of(PixelType type);
std::optional<PixelType> pixel_type_from_name(std::string_view name);

// Calls f with a value of the C++ type that stands for `type`:
//   visit_pixel_type(type, [&](auto zero) { using Pixel = decltype(zero); ... });
template <typename F>
decltype(auto) visit_pixel_type(PixelType type, F&& f) {
  switch (type) {
    case PixelType::kU8:
      return std::forward<F>(f)(std::uint8_t{});
    case PixelType::kU16:
      return std::forward<F>(f)(std::uint16_t{});
    case PixelType::kU32:
      return std::forward<F>(f)(std::uint32_t{});
    case PixelType::kU64:
      return std::forward<F>(f)(std::uint64_t{});
    case PixelType::kI8:
      return std::forward<F>(f)(std::int8_t{});
    case PixelType::kI16:
      return std::forward<F>(f)(std::int16_t{});
    case PixelType::kI32:
      return std::forward<F>(f)(std::int32_t{});
    case PixelType::kI64:
      return std::forward<F>(f)(std::int64_t{});
    case PixelType::kF32:
      return std::forward<F>(f)(float{});
    case PixelType::kF64:
      break;
  }
  return std::forward<F>(f)(double{});
}

}  // namespace annulus
