#include <annulus/core/image.hpp>

#include <array>

namespace annulus {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 10> kTypeNames = {"uint8", "uint16", "uint32", "uint64",  "int8",
                                                         "int16", "int32",  "int64",  "float32", "float64"};

}  // namespace

std::size_t size_of(PixelType type) {
  return visit_pixel_type(type, [](auto zero) { return sizeof(zero); });
}

bool is_float(PixelType type) { return type == PixelType::kF32 || type == PixelType::kF64; }

std::string_view name_of(PixelType type) { return kTypeNames[static_cast<std::size_t>(type)]; }

std::optional<PixelType> pixel_type_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kTypeNames.size(); ++i) {
    if (kTypeNames[i] == name) return static_cast<PixelType>(i);
  }
  return std::nullopt;
}

}  // namespace annulus
