#include <annulus/codecs/widen.hpp>

#include <cstring>
#include <type_traits>

namespace annulus {
namespace {

template <typename Pixel>
void extend(std::span<std::int32_t> pixels) {
  for (std::int32_t& pixel : pixels) pixel = static_cast<Pixel>(pixel);
}

}  // namespace

void widen_pixels(PixelType type, const std::byte* bytes, std::span<std::int32_t> pixels) {
  visit_pixel_type(type, [&](auto zero) {
    using Pixel = decltype(zero);
    if constexpr (std::is_integral_v<Pixel> && sizeof(Pixel) <= 4) {
      std::int32_t* const out = pixels.data();
      const std::size_t count = pixels.size();
      for (std::size_t i = 0; i < count; ++i) {
        Pixel pixel;
        std::memcpy(&pixel, bytes + i * sizeof(Pixel), sizeof(Pixel));
        out[i] = static_cast<std::int32_t>(pixel);
      }
    }
  });
}

void extend_signs(PixelType type, std::span<std::int32_t> pixels) {
  if (type == PixelType::kI8) extend<std::int8_t>(pixels);
  if (type == PixelType::kI16) extend<std::int16_t>(pixels);
}

}  // namespace annulus
