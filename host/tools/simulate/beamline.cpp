#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/geometry/projection.hpp>

#include <fmt/core.h>
#include <tools/simulate/beamline.hpp>
#include <tools/simulate/poisson.hpp>
#include <tools/simulate/portable_math.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace annulus {
namespace {

constexpr std::uint64_t kDefectStream = ~std::uint64_t{0};  // beside the frames' numbers

void check(const BeamlineOptions& options) {
  require_within("`frames`", static_cast<double>(options.frames), 1, 1e9);
  if (options.distance) require_within("`distance` (metre)", *options.distance, 1e-4, 1e3);
  require_within("`rot1` (radian)", options.rot1, -portable::kPi, portable::kPi);
  require_within("`rot2` (radian)", options.rot2, -portable::kPi, portable::kPi);
  require_within("`rot3` (radian)", options.rot3, -portable::kPi, portable::kPi);
  require_within("`beam_offset1` (metre)", options.beam_offset1, -100, 100);
  require_within("`beam_offset2` (metre)", options.beam_offset2, -100, 100);
  if (options.polarization) require_within("`polarization`", *options.polarization, -1, 1);
  require_within("`count_cutoff`", static_cast<double>(options.count_cutoff), 1,
                 std::numeric_limits<std::int32_t>::max() - 1);
}

void mark_defects(std::vector<float>& gains, const BeamlineOptions& options) {
  // A few: more than a hundredth would be another kind of detector, and slow to place.
  const std::size_t wanted = std::min<std::size_t>(options.defects, gains.size() / 100);
  CounterRandom random(CounterRandom::key(options.seed, kDefectStream), 0);
  for (std::size_t marked = 0, tries = 0; marked < wanted && tries < 100 * wanted; ++tries) {
    float& gain = gains[random.bits() % gains.size()];
    if (gain < 0) continue;
    gain = static_cast<float>(kDefectMark);
    ++marked;
  }
}

}  // namespace

void require_within(const char* option, double value, double low, double high) {
  if (value >= low && value <= high) return;  // so that NaN fails
  throw Error(ErrorKind::kUsage, option, fmt::format("{} is not between {} and {}", value, low, high),
              "choose a value in that range");
}

double wavelength_of(const BeamlineOptions& options) {
  if (options.wavelength) require_within("`wavelength` (metre)", *options.wavelength, 1e-12, 1e-8);
  if (!options.wavelength) require_within("`energy` (keV)", options.energy_kev, 0.2, 1000);
  return options.wavelength ? *options.wavelength : kHcKevAngstrom / options.energy_kev * 1e-10;
}

Geometry beamline_geometry(const BeamlineOptions& options, double tangent_of_widest_angle) {
  check(options);
  Geometry geometry;
  geometry.wavelength = wavelength_of(options);
  geometry.detector = find_detector(options.detector);
  const Detector& detector = geometry.detector;
  if (detector.shape.size() == 0) {
    throw Error(ErrorKind::kUsage, "simulation option detector",
                fmt::format("the detector '{}' has no shape of its own", detector.name),
                "choose a detector of the catalogue, e.g. Pilatus2M");
  }
  const double half1 = detector.pixel1 * detector.shape.rows / 2;
  const double half2 = detector.pixel2 * detector.shape.cols / 2;
  geometry.poni1 = half1 + options.beam_offset1;
  geometry.poni2 = half2 + options.beam_offset2;
  if (options.distance) {
    geometry.distance = *options.distance;
  } else {
    const double far1 = half1 + std::fabs(options.beam_offset1);
    const double far2 = half2 + std::fabs(options.beam_offset2);
    const double distance = std::sqrt(far1 * far1 + far2 * far2) / tangent_of_widest_angle;
    geometry.distance = std::ceil(distance * 1000) / 1000;  // whole millimetres read better
  }
  geometry.rot1 = options.rot1;
  geometry.rot2 = options.rot2;
  geometry.rot3 = options.rot3;
  return geometry;
}

std::vector<float> pixel_gains(const Geometry& geometry, const BeamlineOptions& options) {
  const Shape shape = geometry.detector.shape;
  const Projection projection(geometry);
  const Mask gaps = geometry.detector.gap_mask();
  std::vector<float> gains(shape.size());
  parallel_ranges(shape.rows, options.threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const double p1 = projection.centre1(static_cast<std::uint32_t>(row));
      for (std::uint32_t col = 0; col < shape.cols; ++col) {
        const double p2 = projection.centre2(col);
        double gain = projection.solid_angle(p1, p2);
        if (options.polarization)
          gain *= Projection::polarization(projection.locate(p1, p2), *options.polarization);
        const std::size_t pixel = row * shape.cols + col;
        gains[pixel] = gaps.pixels[pixel] != 0 ? static_cast<float>(kGapMark) : static_cast<float>(gain);
      }
    }
  });
  if (geometry.detector.dectris) mark_defects(gains, options);
  return gains;
}

}  // namespace annulus
