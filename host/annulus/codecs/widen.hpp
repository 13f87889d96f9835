// Pixels as they lie in memory to int32.
#pragma once

#include <annulus/core/image.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace annulus {

// Of integers of at most 32 bits, which need not be aligned; those of uint32 stay the same 32 bits.
void widen_pixels(PixelType type, const std::byte* bytes, std::span<std::int32_t> pixels);

// Pixels that were widened with zeros get their sign: of int8 and int16, others pass unchanged.
void extend_signs(PixelType type, std::span<std::int32_t> pixels);

}  // namespace annulus
