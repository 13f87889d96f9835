// The types a detector pixel may have in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace annulus {

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
