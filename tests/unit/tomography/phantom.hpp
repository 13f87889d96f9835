// Samples of which projections are known: discs, and what a scan of them measures.
#pragma once

#include <annulus/tomography/filtered_back_projection.hpp>
#include <annulus/tomography/sinogram.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace annulus {

// In steps from the axis of rotation; y downwards, as in a tomogram.
struct Disc {
  double x, y, radius, density;
};

// Lines through the discs, averaged over the width of a position: a beam as wide as a step.
inline double projection_of(const std::vector<Disc>& discs, double angle, double position) {
  // The integral of the chord 2 sqrt(r^2 - u^2) from -r to u.
  const auto area = [](double radius, double u) {
    const double at = std::clamp(u / radius, -1.0, 1.0);
    return radius * radius * (at * std::sqrt(1 - at * at) + std::asin(at) + std::numbers::pi / 2);
  };
  double sum = 0;
  for (const Disc& disc : discs) {
    const double from_centre = position - (disc.x * std::cos(angle) - disc.y * std::sin(angle));
    sum += disc.density * (area(disc.radius, from_centre + 0.5) - area(disc.radius, from_centre - 0.5));
  }
  return sum;
}

// The bin b has all discs with their density x (b + 1).
inline Sinogram scan_discs(const std::vector<Disc>& discs, const ScanGeometry& scan, std::size_t bins = 1) {
  Sinogram sinogram(scan.angles.size(), scan.positions, bins);
  for (std::size_t angle = 0; angle < sinogram.angles; ++angle) {
    for (std::size_t position = 0; position < sinogram.positions; ++position) {
      const double value =
          projection_of(discs, scan.angles[angle], static_cast<double>(position) - scan.axis);
      for (std::size_t bin = 0; bin < bins; ++bin) {
        sinogram.at(angle, position)[bin] = static_cast<float>(value * static_cast<double>(bin + 1));
      }
    }
  }
  return sinogram;
}

inline std::vector<double> even_angles(std::size_t count, double turn) {
  std::vector<double> angles(count);
  for (std::size_t i = 0; i < count; ++i)
    angles[i] = turn * static_cast<double>(i) / static_cast<double>(count);
  return angles;
}

// The same numbers on every machine, in [0, 1).
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed * 2862933555777941757U + 3037000493U) {}
  double operator()() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 11U) / 9007199254740992.0;
  }

 private:
  std::uint64_t state_;
};

inline Sinogram random_sinogram(std::size_t angles, std::size_t positions, std::size_t bins,
                                std::uint64_t seed) {
  Sinogram sinogram(angles, positions, bins);
  Noise noise(seed);
  for (float& value : sinogram.values) value = static_cast<float>(noise());
  return sinogram;
}

// What a tomogram shows of a disc: the mean inside and the centre of mass, in pixels from its centre, of what
// lies within twice the radius.
struct FoundDisc {
  double x, y, density;
};

inline FoundDisc find_disc(const Tomogram& tomogram, const Disc& disc, std::size_t bin = 0) {
  const auto centre = static_cast<double>(tomogram.size / 2);
  double mass = 0, x_moment = 0, y_moment = 0, inside = 0;
  std::size_t pixels = 0;
  for (std::size_t y = 0; y < tomogram.size; ++y) {
    for (std::size_t x = 0; x < tomogram.size; ++x) {
      const double dx = static_cast<double>(x) - centre, dy = static_cast<double>(y) - centre;
      const double distance = std::hypot(dx - disc.x, dy - disc.y), value = tomogram.at(y, x)[bin];
      if (distance < disc.radius - 2) {
        inside += value;
        ++pixels;
      }
      if (distance > disc.radius + 1.5) continue;
      mass += value;
      x_moment += value * dx;
      y_moment += value * dy;
    }
  }
  return {x_moment / mass, y_moment / mass, inside / static_cast<double>(pixels)};
}

// Root mean square of the deviation from the discs over the pixels of the circle, edges of discs left out.
inline double deviation_from(const Tomogram& tomogram, const std::vector<Disc>& discs, std::size_t bin = 0) {
  const auto centre = static_cast<double>(tomogram.size / 2);
  double sum = 0;
  std::size_t pixels = 0;
  for (std::size_t y = 0; y < tomogram.size; ++y) {
    for (std::size_t x = 0; x < tomogram.size; ++x) {
      const double dx = static_cast<double>(x) - centre, dy = static_cast<double>(y) - centre;
      if (std::hypot(dx, dy) > centre) continue;
      double truth = 0;
      bool edge = false;
      for (const Disc& disc : discs) {
        const double distance = std::hypot(dx - disc.x, dy - disc.y) - disc.radius;
        if (distance < 0) truth += disc.density;
        edge = edge || std::abs(distance) < 2;
      }
      if (edge) continue;
      sum += (tomogram.at(y, x)[bin] - truth) * (tomogram.at(y, x)[bin] - truth);
      ++pixels;
    }
  }
  return std::sqrt(sum / static_cast<double>(pixels));
}

inline const std::vector<Disc> kDiscs = {
    {0, 0, 14, 1}, {-22, 13, 8, 2.5}, {17, 24, 6, 0.7}, {5, -27, 9, 1.4}};

inline Tomogram reconstruct(const ScanGeometry& scan, const Sinogram& sinogram,
                            const FbpOptions& options = {}) {
  const FilteredBackProjection reconstruction(scan, options);
  Tomogram tomogram(reconstruction.size(), sinogram.bins);
  std::ranges::fill(tomogram.values, std::numeric_limits<float>::quiet_NaN());  // all of it must be written
  reconstruction.reconstruct(sinogram.view(), tomogram.view());
  return tomogram;
}

}  // namespace annulus
