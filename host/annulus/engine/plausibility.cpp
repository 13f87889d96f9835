#include <annulus/engine/plausibility.hpp>
#include <annulus/geometry/projection.hpp>
#include <annulus/sources/header_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace annulus {
namespace {

using Warnings = std::vector<std::string>;

// By which the header of a good measurement may differ from its calibration. Monochromators are off by far
// less, and detectors by less than that from the position of their motor; calibrations refine pixels.
constexpr double kSameWavelength = 0.02;
constexpr double kSameDistance = 0.5;
constexpr double kSamePixel = 0.05;

// Far beyond what any instrument has, but not as far as a slip of the unit.
constexpr Range kWavelengths{1e-12, 1e-8};  // metre: 1.2 MeV to 0.12 keV
constexpr Range kDistances{1e-3, 1e2};
constexpr Range kPixels{1e-7, 2e-2};

bool contains(Range range, double value) { return value >= range.low && value <= range.high; }
bool is_near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::min(std::abs(a), std::abs(b));
}

// The share of `whole` that lies in `part`.
double covered(Range whole, Range part) {
  const double common = std::min(whole.high, part.high) - std::max(whole.low, part.low);
  return whole.high > whole.low ? std::max(0.0, common) / (whole.high - whole.low) : 0.0;
}

void check_sizes(const Geometry& geometry, Warnings& warnings) {
  const auto check = [&](const char* what, double value, Range possible) {
    if (contains(possible, value)) return;
    warnings.push_back(
        fmt::format("{}: its {} is {:g} m, which is hardly possible: it may be in another unit",
                    geometry.source, what, value));
  };
  if (geometry.wavelength) check("wavelength", *geometry.wavelength, kWavelengths);
  check("distance", geometry.distance, kDistances);
  check("size of pixels", geometry.detector.pixel1, kPixels);
  check("size of pixels", geometry.detector.pixel2, kPixels);
}

// What a header says in metres, "0.12237 m" or "1.5", under the names that DECTRIS and ESRF use.
std::optional<double> length_in(const SourceInfo& frames, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const auto text = find_value(frames.header, key);
    const auto value = text ? leading_real(*text) : std::nullopt;
    if (!value || !(*value > 0)) continue;
    const std::string_view unit =
        trim(text->substr(std::min(text->find_last_of("0123456789.") + 1, text->size())));
    if (unit.empty() || unit == "m" || unit == "_m") return value;
  }
  return std::nullopt;
}

// Calibration and frames of different measurements contradict each other.
void check_header(const Geometry& geometry, const SourceInfo& frames, Warnings& warnings) {
  const auto compare = [&](const char* what, double given, const std::optional<double>& said,
                           double tolerance) {
    if (!said || is_near(given, *said, tolerance)) return;
    warnings.push_back(
        fmt::format("{}: its {} is {:g} m, but the frames say {:g} m: it may be of another measurement",
                    geometry.source, what, given, *said));
  };
  if (geometry.wavelength) compare("wavelength", *geometry.wavelength, frames.wavelength, kSameWavelength);
  const DetectorPlace place = frames.place.value_or(DetectorPlace{});
  const auto distance = length_in(frames, {"Detector_distance", "SampleDistance"});
  compare("distance", geometry.distance, place.distance ? place.distance : distance, kSameDistance);
  compare("size of pixels", geometry.detector.pixel1, place.pixel_y, kSamePixel);
  compare("size of pixels", geometry.detector.pixel2, place.pixel_x, kSamePixel);
  // "172e-6 m x 172e-6 m"
  const auto pixels = find_value(frames.header, "Pixel_size");
  if (!pixels || place.pixel_x) return;
  const auto times = pixels->find('x');
  const auto first = leading_real(*pixels);
  if (!first || times == std::string_view::npos || pixels->find(" m") == std::string_view::npos) return;
  compare("size of pixels", geometry.detector.pixel2, first, kSamePixel);
}

struct Place {
  double row = 0;
  double col = 0;
};

// Where the beam hits the plane of the detector, in pixels; none if it does not.
std::optional<Place> beam_of(const Geometry& geometry) {
  const double facing = std::cos(geometry.rot1) * std::cos(geometry.rot2);
  if (!(facing > 0)) return std::nullopt;
  return Place{
      (geometry.poni1 + geometry.distance * std::sin(geometry.rot2) / facing) / geometry.detector.pixel1,
      (geometry.poni2 - geometry.distance * std::tan(geometry.rot1)) / geometry.detector.pixel2};
}

bool is_on(Place place, Shape shape) {
  return place.row >= 0 && place.col >= 0 && place.row <= shape.rows && place.col <= shape.cols;
}

// The detector of the catalogue with these pixels in whose middle the place is, more than in that of others.
const Detector* detector_around(Place place, const Detector& like) {
  const auto off_centre = [&](Shape shape) {
    return std::max(std::abs(place.row / shape.rows - 0.5), std::abs(place.col / shape.cols - 0.5));
  };
  const Detector* found = nullptr;
  for (const Detector& detector : detector_catalogue()) {
    if (is_near(detector.pixel1, like.pixel1, 0.01) && is_near(detector.pixel2, like.pixel2, 0.01) &&
        is_on(place, detector.shape) &&
        (found == nullptr || off_centre(detector.shape) < off_centre(found->shape)))
      found = &detector;
  }
  return found;
}

// Shapes are compared where the PONI file has one. Where it has none, only the beam tells: it is on the
// detector that was calibrated, beyond the last row or column of a smaller one. A detector that is turned to
// the side of the beam has the PONI in its middle; one that is not is rare.
void check_beam(const Geometry& geometry, Shape shape, Warnings& warnings) {
  const auto beam = beam_of(geometry);
  if (geometry.detector.shape.size() > 0 || !beam) return;
  const Place poni{geometry.poni1 / geometry.detector.pixel1, geometry.poni2 / geometry.detector.pixel2};
  const auto is_beyond = [&](Place place) {
    return place.row >= 0 && place.col >= 0 && !is_on(place, shape);
  };
  if (!is_beyond(*beam) || !is_beyond(poni)) return;
  const Detector* const other = detector_around(*beam, geometry.detector);
  warnings.push_back(fmt::format(
      "{}: the beam would be at row {:.0f}, column {:.0f}, outside of the frames with {} pixels{}: it may be "
      "of "
      "another detector",
      geometry.source, beam->row, beam->col, to_string(shape),
      other != nullptr ? fmt::format(", but on {} with the same pixels", other->name) : std::string()));
}

// Masks leave out a few per cent of the pixels, seldom a third. What an inverted one leaves are gaps and the
// shadow of the beam stop.
void check_mask(const Geometry& geometry, Shape shape, const PixelMaps& maps, Warnings& warnings) {
  if (!maps.mask || maps.mask->shape != shape) return;
  std::vector<std::uint8_t> gaps(shape.size(), 0);
  if (geometry.detector.shape == shape) gaps = geometry.detector.gap_mask().pixels;
  std::size_t left = 0, present = 0, left_in_gaps = 0;
  for (std::size_t pixel = 0; pixel < shape.size(); ++pixel) {
    const bool is_left = maps.mask->pixels[pixel] == 0;
    present += gaps[pixel] == 0;
    left += is_left && gaps[pixel] == 0;
    left_in_gaps += is_left && gaps[pixel] != 0;
  }
  if (2 * left >= present) return;
  const bool leaves_gaps = 2 * left_in_gaps > shape.size() - present;
  warnings.push_back(
      fmt::format("{}: the mask leaves {:.1f} % of the pixels{}: pixels are left out where it is not 0, it "
                  "may be inverted",
                  maps.mask_name, 100.0 * static_cast<double>(left) / static_cast<double>(present),
                  leaves_gaps ? fmt::format(", and the gaps of {}", geometry.detector.name) : std::string()));
}

// Which radii the frames reach, from a grid of pixels: their farthest are at corners.
Range reach(const Geometry& geometry, Shape shape, Unit unit) {
  constexpr std::uint32_t kSteps = 32;
  const Projection projection(geometry);
  Range range{HUGE_VAL, 0};
  for (std::uint32_t i = 0; i <= kSteps; ++i) {
    for (std::uint32_t j = 0; j <= kSteps; ++j) {
      const auto row = static_cast<std::uint32_t>(std::uint64_t{shape.rows - 1} * i / kSteps);
      const auto col = static_cast<std::uint32_t>(std::uint64_t{shape.cols - 1} * j / kSteps);
      const auto point = projection.locate(projection.centre1(row), projection.centre2(col));
      const double radius = projection.radial(point, quantity_of(unit)) * scale_of(unit);
      range = {std::min(range.low, radius), std::max(range.high, radius)};
    }
  }
  if (const auto beam = beam_of(geometry); beam && is_on(*beam, shape)) range.low = 0;
  return range;
}

// The units in which the range would be most of what the frames reach.
std::string units_that_fit(const Geometry& geometry, Shape shape, Unit unit, Range asked) {
  std::string units;
  for (const Unit other : {Unit::kQPerA, Unit::kQPerNm, Unit::kTwoThetaDeg, Unit::kTwoThetaRad,
                           Unit::kRadiusMm, Unit::kRadiusM}) {
    if (other == unit || (quantity_of(other) == RadialQuantity::kQ && !geometry.wavelength)) continue;
    const Range seen = reach(geometry, shape, other);
    if (covered(asked, seen) < 0.5 || covered(seen, asked) < 0.5) continue;
    units += fmt::format("{}{} ({:.3g} to {:.3g})", units.empty() ? "" : " or ", name_of(other), seen.low,
                         seen.high);
  }
  return units;
}

// A unit that is not meant makes most bins empty, or a few rings of the whole pattern. The latter may be
// meant: it is mentioned only where another unit explains it.
void check_range(const Geometry& geometry, Shape shape, const IntegrationOptions& options,
                 Warnings& warnings) {
  constexpr double kMostlyEmpty = 0.2;
  constexpr double kFewRings = 0.15;
  if (!options.radial_range) return;
  const Range asked = *options.radial_range;
  const Range seen = reach(geometry, shape, options.unit);
  const bool empty = covered(asked, seen) < kMostlyEmpty;
  if (!empty && covered(seen, asked) >= kFewRings) return;
  const std::string units = units_that_fit(geometry, shape, options.unit, asked);
  if (!empty && units.empty()) return;
  warnings.push_back(fmt::format("`radial_range`: {:g} to {:g} {} is {}, which reach from {:.3g} to {:.3g}{}",
                                 asked.low, asked.high, name_of(options.unit),
                                 empty ? "mostly outside of the frames" : "a small part of the frames",
                                 seen.low, seen.high, units.empty() ? "" : "; it would fit " + units));
}

}  // namespace

std::vector<std::string> implausible(const Geometry& geometry, const SourceInfo& frames,
                                     const IntegrationOptions& options, const PixelMaps& maps) {
  Warnings warnings;
  if (frames.shape.size() == 0) return warnings;
  check_sizes(geometry, warnings);
  check_header(geometry, frames, warnings);
  check_beam(geometry, frames.shape, warnings);
  check_mask(geometry, frames.shape, maps, warnings);
  check_range(geometry, frames.shape, options, warnings);
  return warnings;
}

}  // namespace annulus
