// The radial and azimuthal coordinates of all pixels, computed once for a plan.
#pragma once

#include <annulus/core/large_vector.hpp>
#include <annulus/geometry/geometry.hpp>
#include <annulus/plan/integration_options.hpp>

#include <array>
#include <numbers>

namespace annulus {

constexpr double kTurn = 2.0 * std::numbers::pi;
constexpr double kDefaultCut = -std::numbers::pi;

// Corners are kept once for the four pixels that share them.
struct PixelPositions {
  Shape shape;
  LargeVector<double> radial;          // of centres, base unit
  LargeVector<double> azimuth;         // of centres, radian; empty unless azimuths are asked for
  LargeVector<double> corner_radial;   // (rows + 1) x (cols + 1); empty without splitting
  LargeVector<double> corner_azimuth;  // the same; empty unless splitting needs it
  double cut = kDefaultCut;            // azimuths are in [cut, cut + 2 pi)

  // Corners of a pixel, around it: (row, col), (row + 1, col), (row + 1, col + 1), (row, col + 1).
  std::array<std::size_t, 4> corners(std::uint32_t row, std::uint32_t col) const {
    const std::size_t width = std::size_t{shape.cols} + 1;
    const std::size_t first = row * width + col;
    return {first, first + width, first + width + 1, first + 1};
  }

  // Azimuths of a pixel's corners, as one piece: a pixel on the cut has corners on both of its sides, which
  // are brought together on the side of its middle. around_beam: they go all the way round.
  struct CornerAzimuths {
    std::array<double, 4> azimuth{};
    bool on_cut = false;
    bool around_beam = false;
  };
  CornerAzimuths corner_azimuths(std::uint32_t row, std::uint32_t col) const;

  // Largest distance from the centre to a corner.
  double radial_reach(std::uint32_t row, std::uint32_t col) const;
  double azimuth_reach(std::uint32_t row, std::uint32_t col) const;
};

PixelPositions locate_pixels(const Geometry& geometry, Shape shape, const IntegrationOptions& options,
                             double cut, unsigned threads);

}  // namespace annulus
