#include <annulus/core/parallel.hpp>
#include <annulus/geometry/projection.hpp>
#include <annulus/plan/pixel_positions.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace annulus {
namespace {

// From (-pi, pi]; a cut beyond pi takes two turns.
double cut_azimuth(double azimuth, double cut) {
  while (azimuth < cut) azimuth += kTurn;
  return azimuth;
}

double wrap(double angle) { return angle - kTurn * std::floor(angle / kTurn); }

double spread(const std::array<double, 4>& values) {
  const auto [low, high] = std::minmax({values[0], values[1], values[2], values[3]});
  return high - low;
}

constexpr double kPi = std::numbers::pi;

// Half a turn is what the corners of a pixel span whose edge goes through the beam. A PONI file whose
// decimals end one place too early must not make it more.
constexpr double kTouching = 1e-6;

// No pixel whose corners span less has one of them at the beam.
constexpr double kNarrow = 0.5;

// A corner at the beam has no azimuth: it gets that of the corner across, in the middle of what the pixel
// sees.
void look_across(std::array<double, 4>& azimuth, const std::array<double, 4>& radial) {
  const auto [low, high] = std::minmax({radial[0], radial[1], radial[2], radial[3]});
  if (!(low <= kTouching * high)) return;
  for (std::size_t i = 0; i < 4; ++i) {
    if (radial[i] == low) azimuth[i] = azimuth[(i + 2) % 4];
  }
}

// The corners look in directions between which there is a widest gap. A pixel beside the beam has a gap of
// half a turn or more, and is what is not the gap.
struct WidestGap {
  double width = 0;
  double begin = 0;  // the azimuth before it; the largest, if it is where azimuths jump
};
WidestGap widest_gap(std::array<double, 4> azimuth) {
  std::sort(azimuth.begin(), azimuth.end());
  WidestGap gap{azimuth[0] + kTurn - azimuth[3], azimuth[3]};
  for (std::size_t i = 0; i < 3; ++i) {
    if (azimuth[i + 1] - azimuth[i] > gap.width) gap = {azimuth[i + 1] - azimuth[i], azimuth[i]};
  }
  return gap;
}

}  // namespace

PixelPositions::CornerAzimuths PixelPositions::corner_azimuths(std::uint32_t row, std::uint32_t col) const {
  CornerAzimuths pixel;
  std::array<double, 4>& azimuth = pixel.azimuth;
  const auto places = corners(row, col);
  for (std::size_t i = 0; i < 4; ++i) azimuth[i] = corner_azimuth[places[i]];
  if (spread(azimuth) < kNarrow) return pixel;
  look_across(azimuth, {corner_radial[places[0]], corner_radial[places[1]], corner_radial[places[2]],
                        corner_radial[places[3]]});
  pixel.on_cut = spread(azimuth) > kPi * (1 + kTouching);
  if (!pixel.on_cut) return pixel;
  const double half_turn = cut + kPi;
  const WidestGap gap = widest_gap(azimuth);
  pixel.around_beam = gap.width < kPi * (1 - kTouching);
  const double last_to_turn = pixel.around_beam ? std::nextafter(half_turn, cut) : gap.begin;
  for (double& angle : azimuth) angle += angle <= last_to_turn ? kTurn : 0.0;
  const double middle = 0.25 * (azimuth[0] + azimuth[1] + azimuth[2] + azimuth[3]);
  if (middle > half_turn + kPi) {
    for (double& angle : azimuth) angle -= kTurn;
  }
  return pixel;
}

double PixelPositions::radial_reach(std::uint32_t row, std::uint32_t col) const {
  const double centre = radial[std::size_t{row} * shape.cols + col];
  double reach = 0;
  for (const std::size_t corner : corners(row, col)) {
    reach = std::max(reach, std::abs(corner_radial[corner] - centre));
  }
  return reach;
}

double PixelPositions::azimuth_reach(std::uint32_t row, std::uint32_t col) const {
  const double centre = azimuth[std::size_t{row} * shape.cols + col];
  double reach = 0;
  for (const std::size_t corner : corners(row, col)) {
    const double ahead = wrap(corner_azimuth[corner] - centre);
    reach = std::max(reach, std::min(ahead, kTurn - ahead));
  }
  return reach;
}

PixelPositions locate_pixels(const Geometry& geometry, Shape shape, const IntegrationOptions& options,
                             double cut, unsigned threads) {
  const Projection projection(geometry);
  const RadialQuantity quantity = quantity_of(options.unit);
  const bool split = options.splitting != Splitting::kNo;
  const bool need_azimuth = options.azimuth_range || options.azimuth_bins;
  const bool need_corner_azimuth = split && (need_azimuth || options.splitting == Splitting::kFull);
  const std::size_t corner_rows = std::size_t{shape.rows} + 1, corner_cols = std::size_t{shape.cols} + 1;

  PixelPositions positions;
  positions.shape = shape;
  positions.cut = cut;
  positions.radial.resize(shape.size());
  if (need_azimuth) positions.azimuth.resize(shape.size());
  if (split) positions.corner_radial.resize(corner_rows * corner_cols);
  if (need_corner_azimuth) positions.corner_azimuth.resize(corner_rows * corner_cols);

  parallel_ranges(shape.rows, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const double p1 = projection.centre1(static_cast<std::uint32_t>(row));
      for (std::uint32_t col = 0; col < shape.cols; ++col) {
        const auto point = projection.locate(p1, projection.centre2(col));
        const std::size_t pixel = row * shape.cols + col;
        positions.radial[pixel] = projection.radial(point, quantity);
        if (need_azimuth) positions.azimuth[pixel] = cut_azimuth(Projection::azimuth(point), cut);
      }
    }
  });
  if (!split) return positions;

  parallel_ranges(corner_rows, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const double p1 = projection.corner1(static_cast<std::uint32_t>(row));
      for (std::uint32_t col = 0; col < corner_cols; ++col) {
        const auto point = projection.locate(p1, projection.corner2(col));
        const std::size_t corner = row * corner_cols + col;
        positions.corner_radial[corner] = projection.radial(point, quantity);
        if (need_corner_azimuth) {
          positions.corner_azimuth[corner] = cut_azimuth(Projection::azimuth(point), cut);
        }
      }
    }
  });
  return positions;
}

}  // namespace annulus
