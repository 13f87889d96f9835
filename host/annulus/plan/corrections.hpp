// What each pixel's count is divided by, and what is taken from it.
#pragma once

#include <annulus/core/large_vector.hpp>
#include <annulus/geometry/geometry.hpp>
#include <annulus/plan/options.hpp>

#include <cstdint>
#include <vector>

namespace annulus {

// flat * solid angle * polarisation of every pixel.
LargeVector<double> normalization_map(const Geometry& geometry, Shape shape,
                                      const IntegrationOptions& options, const PixelMaps& maps,
                                      unsigned threads);

// 1 = excluded: gaps of the detector and the user's mask. Throws kInput for maps of another shape.
std::vector<std::uint8_t> static_mask(const Geometry& geometry, Shape shape, const PixelMaps& maps);

}  // namespace annulus
