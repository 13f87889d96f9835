#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/plan/extent.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>

namespace annulus {
namespace {

// Of a pixel's azimuths: far above the rounding of its corners, far below what anyone measures.
constexpr double kSharedEdge = 1e-9;

// Degrees to radian in [first, first + 2 pi), where first is -pi or 0.
double principal_angle(double degrees, double first) {
  const double halves = degrees / 180.0;
  const double wrapped = halves - 2.0 * std::floor(halves / 2.0);
  return (first < 0 && wrapped >= 1.0 ? wrapped - 2.0 : wrapped) * std::numbers::pi;
}

// The least and the largest of what pixels give to include(low, high), on several threads.
template <typename Visit>
Range extent_of(const PixelPositions& positions, const std::vector<std::uint8_t>& excluded, unsigned threads,
                Visit&& visit) {
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
        if (!excluded[pixel]) visit(static_cast<std::uint32_t>(row), col, pixel, include);
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
  return extent;
}

}  // namespace

bool AzimuthWindow::meets(Range azimuths) const {
  const double margin = kSharedEdge * (azimuths.high - azimuths.low);
  const Range inner{azimuths.low + margin, azimuths.high - margin};
  return std::ranges::any_of(std::array{0.0, kTurn, -kTurn},
                             [&](double by) { return inner.high + by >= low && inner.low + by <= high; });
}

AzimuthWindow azimuth_window(Range degrees, double first) {
  if (!std::isfinite(degrees.low) || !std::isfinite(degrees.high) || degrees.low == degrees.high) {
    throw Error(ErrorKind::kPlan, "`azimuth_range`",
                fmt::format("{} to {} degrees is empty", degrees.low, degrees.high),
                "give two different angles in degrees");
  }
  if (std::abs(degrees.high - degrees.low) > 360.0) {
    throw Error(ErrorKind::kPlan, "`azimuth_range`",
                fmt::format("{} to {} degrees is more than a full turn", degrees.low, degrees.high),
                "give a window of at most 360 degrees");
  }
  AzimuthWindow window{principal_angle(degrees.low, first), principal_angle(degrees.high, first), first};
  if (window.high <= window.low) window.high += kTurn;
  if (window.high <= first + kTurn) return window;
  const bool from_zero = first < 0 && window.low >= 0 && window.high <= kTurn;
  window.cut = from_zero ? 0.0 : 0.5 * (window.low + window.high - kTurn);
  return window;
}

Range radial_extent(const PixelPositions& positions, Splitting splitting,
                    const std::vector<std::uint8_t>& excluded, unsigned threads) {
  const Range extent =
      extent_of(positions, excluded, threads,
                [&](std::uint32_t row, std::uint32_t col, std::size_t pixel, auto& include) {
                  if (splitting == Splitting::kFull) {
                    for (const std::size_t corner : positions.corners(row, col)) {
                      include(positions.corner_radial[corner], positions.corner_radial[corner]);
                    }
                  } else {
                    const double reach = splitting == Splitting::kNo ? 0.0 : positions.radial_reach(row, col);
                    include(positions.radial[pixel] - reach, positions.radial[pixel] + reach);
                  }
                });
  return {std::max(0.0, extent.low), std::max(0.0, extent.high)};
}

AzimuthExtent azimuth_extent(const PixelPositions& positions, Splitting splitting,
                             const std::vector<std::uint8_t>& excluded, unsigned threads) {
  const double first = positions.cut, last = positions.cut + kTurn;
  std::atomic<bool> on_cut = false;
  const Range extent = extent_of(
      positions, excluded, threads,
      [&](std::uint32_t row, std::uint32_t col, std::size_t pixel, auto& include) {
        if (splitting == Splitting::kFull) {
          const auto corners = positions.corners(row, col);
          for (const std::size_t corner : corners) {
            include(positions.corner_azimuth[corner], positions.corner_azimuth[corner]);
          }
          if (positions.corner_azimuths(row, col).on_cut) on_cut = true;
        } else {
          const double reach = splitting == Splitting::kNo ? 0.0 : positions.azimuth_reach(row, col);
          const double low = positions.azimuth[pixel] - reach, high = positions.azimuth[pixel] + reach;
          include(low, high);
          if (low < first || high > last) on_cut = true;
        }
      });
  return {{std::max(first, extent.low), std::min(last, extent.high)}, on_cut};
}

}  // namespace annulus
