// What bounds an axis: the radial extent of a detector's pixels, and windows in azimuth.
#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/plan/splitting.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>

namespace annulus {
namespace {

// Degrees to radian in [-pi, pi).
double principal_angle(double degrees) {
  const double halves = degrees / 180.0;
  const double wrapped = halves - 2.0 * std::floor(halves / 2.0);
  return (wrapped >= 1.0 ? wrapped - 2.0 : wrapped) * std::numbers::pi;
}

}  // namespace

AzimuthWindow azimuth_window(Range degrees) {
  if (!std::isfinite(degrees.low) || !std::isfinite(degrees.high) || degrees.low == degrees.high) {
    throw Error(ErrorKind::kPlan, "--azimuth-range",
                fmt::format("{} to {} degrees is empty", degrees.low, degrees.high),
                "give two different angles in degrees");
  }
  if (std::abs(degrees.high - degrees.low) > 360.0) {
    throw Error(ErrorKind::kPlan, "--azimuth-range",
                fmt::format("{} to {} degrees is more than a full turn", degrees.low, degrees.high),
                "give a window of at most 360 degrees");
  }
  constexpr double kPi = std::numbers::pi;
  AzimuthWindow window{principal_angle(degrees.low), principal_angle(degrees.high)};
  if (window.high <= window.low) window.high += 2 * kPi;
  if (window.high <= kPi) return window;
  window.cut = window.low >= 0 ? 0.0 : 0.5 * (window.low + window.high) - kPi;
  return window;
}

Range radial_extent(const PixelPositions& positions, Splitting splitting,
                    const std::vector<std::uint8_t>& excluded, unsigned threads) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Range extent{kInfinity, -kInfinity};
  std::mutex merging;
  parallel_ranges(positions.shape.rows, threads, [&](std::size_t begin, std::size_t end) {
    Range part{kInfinity, -kInfinity};
    const auto include = [&part](double low, double high) {
      part.low = std::min(part.low, low);
      part.high = std::max(part.high, high);
    };
    for (std::size_t row = begin; row < end; ++row) {
      for (std::uint32_t col = 0; col < positions.shape.cols; ++col) {
        const std::size_t pixel = row * positions.shape.cols + col;
        if (excluded[pixel]) continue;
        const auto r = static_cast<std::uint32_t>(row);
        if (splitting == Splitting::kFull) {
          for (const std::size_t corner : positions.corners(r, col)) {
            include(positions.corner_radial[corner], positions.corner_radial[corner]);
          }
        } else {
          const double reach = splitting == Splitting::kNo ? 0.0 : positions.radial_reach(r, col);
          include(positions.radial[pixel] - reach, positions.radial[pixel] + reach);
        }
      }
    }
    const std::lock_guard lock(merging);
    extent.low = std::min(extent.low, part.low);
    extent.high = std::max(extent.high, part.high);
  });
  if (!(extent.low <= extent.high)) {
    throw Error(ErrorKind::kPlan, "mask", "every pixel is masked, nothing is left to integrate",
                "check the mask: 1 means excluded");
  }
  return {std::max(0.0, extent.low), std::max(0.0, extent.high)};
}

}  // namespace annulus
