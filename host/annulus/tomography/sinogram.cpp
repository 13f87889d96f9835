#include <annulus/core/error.hpp>
#include <annulus/tomography/angle_weights.hpp>
#include <annulus/tomography/sinogram.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace annulus {
namespace {

// Beyond this, positions and pixels are no scan but a mistake; products of them fit into 64 bits.
constexpr std::size_t kMostPositions = 1U << 16U;
constexpr std::size_t kMostAngles = 1U << 20U;

std::size_t product_of(std::size_t a, std::size_t b, std::size_t c, const std::string& what) {
  if (a == 0 || b == 0 || c == 0) {
    throw Error(ErrorKind::kInput, what, fmt::format("it is empty: {} x {} x {} values", a, b, c));
  }
  std::size_t product = 0, bytes = 0;
  if (__builtin_mul_overflow(a, b, &product) || __builtin_mul_overflow(product, c, &product) ||
      __builtin_mul_overflow(product, sizeof(float), &bytes) || bytes > PTRDIFF_MAX) {
    throw Error(ErrorKind::kInput, what, fmt::format("{} x {} x {} values are too many", a, b, c),
                "take fewer bins at a time");
  }
  return product;
}

}  // namespace

void ScanGeometry::check() const {
  for (std::size_t i = 0; i < angles.size(); ++i) {
    if (!std::isfinite(angles[i])) {
      throw Error(ErrorKind::kInput, "`angles`", fmt::format("angle {} is {}", i, angles[i]),
                  "leave out projections whose angle is unknown");
    }
  }
  if (count_directions(angles) < 2) {
    throw Error(ErrorKind::kInput, "`angles`",
                fmt::format("{} give{} only one direction to look from",
                            angles.size() == 1 ? "1 angle" : fmt::format("{} angles", angles.size()),
                            angles.size() == 1 ? "s" : ""),
                "a tomogram needs projections from several directions: does the rotation really move?");
  }
  if (positions < 2) {
    throw Error(ErrorKind::kInput, "`positions`", fmt::format("{} are not enough for a tomogram", positions),
                "a scan needs two or more positions of the translation: does it really move?");
  }
  if (!(axis >= 0 && axis <= static_cast<double>(positions - 1))) {
    throw Error(
        ErrorKind::kInput, "`axis`",
        fmt::format("the axis of rotation is at {}, not among the positions 0 to {}", axis, positions - 1),
        "give it in steps of the translation, counted from the first position");
  }
}

SinogramView SinogramView::bins_from(std::size_t first, std::size_t count) const {
  if (first > bins || count > bins - first) throw std::out_of_range("bins of a sinogram");
  SinogramView part = *this;
  part.values += first;
  part.bins = count;
  return part;
}

TomogramView TomogramView::bins_from(std::size_t first, std::size_t count) const {
  if (first > bins || count > bins - first) throw std::out_of_range("bins of a tomogram");
  TomogramView part = *this;
  part.values += first;
  part.bins = count;
  return part;
}

Sinogram::Sinogram(std::size_t angle_count, std::size_t position_count, std::size_t bin_count)
    : angles(angle_count),
      positions(position_count),
      bins(bin_count),
      values(product_of(angle_count, position_count, bin_count, "the sinogram"), 0.0F) {}

Tomogram::Tomogram(std::size_t pixels, std::size_t bin_count)
    : size(pixels), bins(bin_count), values(product_of(pixels, pixels, bin_count, "the tomogram"), 0.0F) {}

Circle::Circle(std::size_t size) : rows_(size) {
  const auto radius = static_cast<std::ptrdiff_t>(size / 2);
  for (std::size_t y = 0; y < size; ++y) {
    const std::ptrdiff_t dy = static_cast<std::ptrdiff_t>(y) - radius;
    auto half = static_cast<std::ptrdiff_t>(std::sqrt(static_cast<double>(radius * radius - dy * dy)));
    while (half * half > radius * radius - dy * dy) --half;
    while ((half + 1) * (half + 1) <= radius * radius - dy * dy) ++half;
    rows_[y] = {static_cast<std::size_t>(radius - half),
                std::min(static_cast<std::size_t>(radius + half + 1), size)};
  }
}

ProjectionRange::ProjectionRange(double axis, std::size_t size, std::size_t margin) {
  // A pixel lies within axis +- radius. The margin also allows for rounding.
  const std::size_t half = size / 2;
  const auto radius = static_cast<double>(half);
  const auto more = static_cast<std::ptrdiff_t>(margin);
  first = static_cast<std::ptrdiff_t>(std::floor(axis - radius)) - more;
  const auto last = static_cast<std::ptrdiff_t>(std::floor(axis + radius)) + 1 + more;
  count = static_cast<std::size_t>(last - first) + 1;
}

std::size_t checked_size(const ScanGeometry& scan, std::size_t size) {
  scan.check();
  if (scan.positions > kMostPositions || scan.angles.size() > kMostAngles) {
    throw Error(ErrorKind::kInput, "the scan",
                fmt::format("{} angles and {} positions are too many: at most {} and {}", scan.angles.size(),
                            scan.positions, kMostAngles, kMostPositions));
  }
  const std::size_t pixels = size > 0 ? size : scan.positions;
  if (pixels < 2 || pixels > kMostPositions) {
    throw Error(ErrorKind::kUsage, "`size`", fmt::format("a tomogram cannot have {0} x {0} pixels", pixels),
                fmt::format("give 2 to {}, or 0 for as many as there are positions", kMostPositions));
  }
  return pixels;
}

void check_shapes(const ScanGeometry& scan, const SinogramView& sinogram, const TomogramView& tomogram,
                  std::size_t size) {
  if (sinogram.angles != scan.angles.size() || sinogram.positions != scan.positions) {
    throw Error(ErrorKind::kInput, "the sinogram",
                fmt::format("it has {} angles and {} positions, the scan {} and {}", sinogram.angles,
                            sinogram.positions, scan.angles.size(), scan.positions));
  }
  if (sinogram.bins == 0) throw Error(ErrorKind::kInput, "the sinogram", "it has no bins");
  if (tomogram.bins != sinogram.bins) {
    throw Error(ErrorKind::kInput, "the tomogram",
                fmt::format("it has {} bins, the sinogram {}", tomogram.bins, sinogram.bins));
  }
  if (tomogram.size != size) {
    throw Error(ErrorKind::kInput, "the tomogram",
                fmt::format("it has {0} x {0} pixels, the reconstruction {1} x {1}", tomogram.size, size));
  }
}

void check_finite(const SinogramView& sinogram, MissingCells missing) {
  const auto is_bad = [&](float value) {
    return !std::isfinite(value) && !(missing == MissingCells::kAllowed && std::isnan(value));
  };
  for (std::size_t angle = 0; angle < sinogram.angles; ++angle) {
    for (std::size_t position = 0; position < sinogram.positions; ++position) {
      const float* const cell = sinogram.at(angle, position);
      float sum = 0;  // of zeros, unless a value is not finite
      for (std::size_t bin = 0; bin < sinogram.bins; ++bin) sum += cell[bin] * 0.0F;
      if (sum == 0) continue;
      const auto* const found = std::find_if(cell, cell + sinogram.bins, is_bad);
      if (found == cell + sinogram.bins) continue;
      throw Error(ErrorKind::kInput, "the sinogram",
                  fmt::format("the cell at angle {}, position {}, bin {} is {}", angle, position,
                              found - cell, *found),
                  std::isnan(*found) ? "fill missing cells first, by `fill_missing()`"
                                     : "mark it as missing, by NaN");
    }
  }
}

}  // namespace annulus
