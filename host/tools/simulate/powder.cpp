#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/geometry/projection.hpp>

#include <fmt/core.h>
#include <tools/simulate/poisson.hpp>
#include <tools/simulate/portable_math.hpp>
#include <tools/simulate/powder.hpp>
#include <tools/simulate/powder_pattern.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace annulus {
namespace {

constexpr double kHcKevAngstrom = 12.398419843320026;
constexpr double kTangentOfWidestAngle = 0.96568877480707;  // 44 degrees
constexpr double kMaxCounts = 1e9;
constexpr std::uint64_t kDefectStream = ~std::uint64_t{0};  // beside the frames' numbers

// Written so that NaN fails.
void require(const char* option, double value, double low, double high) {
  if (value >= low && value <= high) return;
  throw Error(ErrorKind::kUsage, option, fmt::format("{} is not between {} and {}", value, low, high),
              "choose a value in that range");
}

void check(const SimulationOptions& options) {
  require("`frames`", static_cast<double>(options.frames), 1, 1e9);
  if (options.distance) require("`distance` (metre)", *options.distance, 1e-4, 1e3);
  if (options.wavelength) require("`wavelength` (metre)", *options.wavelength, 1e-12, 1e-8);
  if (!options.wavelength) require("`energy` (keV)", options.energy_kev, 0.2, 1000);
  require("`rot1` (radian)", options.rot1, -portable::kPi, portable::kPi);
  require("`rot2` (radian)", options.rot2, -portable::kPi, portable::kPi);
  require("`rot3` (radian)", options.rot3, -portable::kPi, portable::kPi);
  require("`beam_offset1` (metre)", options.beam_offset1, -100, 100);
  require("`beam_offset2` (metre)", options.beam_offset2, -100, 100);
  require("`expansion`", options.expansion, -0.2, 0.2);
  require("`beam_variation`", options.beam_variation, 0, 1);
  require("`background`", options.background, 0, kMaxCounts);
  require("`ring_counts`", options.ring_counts, 0, kMaxCounts);
  if (options.ring_width) require("`ring_width` (degree)", *options.ring_width, 0.001, 20);
  if (options.polarization) require("`polarization`", *options.polarization, -1, 1);
  require("`count_cutoff`", static_cast<double>(options.count_cutoff), 1,
          std::numeric_limits<std::int32_t>::max() - 1);
}

double wavelength_of(const SimulationOptions& options) {
  return options.wavelength ? *options.wavelength : kHcKevAngstrom / options.energy_kev * 1e-10;
}

// sin(theta) of the direction in which a point is seen: sin^2(theta) = (1 - cos(2 theta)) / 2.
double sine_of_theta(const Projection::Point& point) {
  const double radius_square = point.t1 * point.t1 + point.t2 * point.t2;
  const double length = std::sqrt(radius_square + point.t3 * point.t3);
  if (length == 0) return 0;
  // Forward, length - t3 would cancel.
  const double difference = point.t3 > 0 ? radius_square / (length + point.t3) : length - point.t3;
  return std::sqrt(difference / (2 * length));
}

}  // namespace

Geometry simulated_geometry(const SimulationOptions& options) {
  check(options);
  Geometry geometry;
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
    const double distance = std::sqrt(far1 * far1 + far2 * far2) / kTangentOfWidestAngle;
    geometry.distance = std::ceil(distance * 1000) / 1000;  // whole millimetres read better
  }
  geometry.rot1 = options.rot1;
  geometry.rot2 = options.rot2;
  geometry.rot3 = options.rot3;
  geometry.wavelength = wavelength_of(options);
  return geometry;
}

PowderScan::PowderScan(SimulationOptions options)
    : options_(std::move(options)), geometry_(simulated_geometry(options_)) {
  locate_pixels();
  mark_defects();
}

void PowderScan::locate_pixels() {
  const Shape shape = geometry_.detector.shape;
  const Projection projection(geometry_);
  const Mask gaps = geometry_.detector.gap_mask();
  std::vector<double> sines(shape.size());
  gain_.resize(shape.size());
  parallel_ranges(shape.rows, options_.threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const double p1 = projection.centre1(static_cast<std::uint32_t>(row));
      for (std::uint32_t col = 0; col < shape.cols; ++col) {
        const double p2 = projection.centre2(col);
        const Projection::Point point = projection.locate(p1, p2);
        double gain = projection.solid_angle(p1, p2);
        if (options_.polarization) gain *= Projection::polarization(point, *options_.polarization);
        const std::size_t pixel = row * shape.cols + col;
        sines[pixel] = sine_of_theta(point);
        gain_[pixel] = gaps.pixels[pixel] != 0 ? static_cast<float>(kGap) : static_cast<float>(gain);
      }
    }
  });

  const auto [lowest, highest] = std::minmax_element(sines.begin(), sines.end());
  PatternSettings pattern;
  pattern.wavelength = *geometry_.wavelength * 1e10;
  pattern.x_low = *lowest;
  pattern.x_high = *highest;
  const double pixel = std::max(geometry_.detector.pixel1, geometry_.detector.pixel2);
  const double width =
      options_.ring_width ? *options_.ring_width * portable::kPi / 180 : 3 * pixel / geometry_.distance;
  pattern.ring_width = std::min(width, 0.35);
  pattern.background = options_.background;
  pattern.ring_counts = options_.ring_counts;
  set_patterns(pattern);

  position_.resize(shape.size());
  const double scale = (1 << kPositionBits) / node_grid(pattern).distance;
  parallel_ranges(shape.size(), options_.threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      position_[i] = static_cast<std::uint32_t>((sines[i] - pattern.x_low) * scale);
    }
  });
}

void PowderScan::set_patterns(const PatternSettings& pattern) {
  if (options_.phantom) {
    PhantomPattern::Settings settings;
    settings.pattern = pattern;
    settings.phantom = *options_.phantom;
    settings.energy_kev = kHcKevAngstrom / pattern.wavelength;
    settings.beam_variation = options_.beam_variation;
    settings.seed = options_.seed;
    phantom_ = std::make_shared<PhantomPattern>(settings);
    patterns_ = phantom_;
    options_.frames = phantom_->points().size();
    return;
  }
  PowderPattern::Settings settings;
  settings.pattern = pattern;
  settings.calibrant = options_.calibrant;
  settings.product = options_.product;
  settings.expansion = options_.expansion;
  settings.beam_variation = options_.beam_variation;
  settings.frames = options_.frames;
  settings.seed = options_.seed;
  patterns_ = std::make_shared<PowderPattern>(settings);
}

void PowderScan::mark_defects() {
  if (!geometry_.detector.dectris) return;
  const std::size_t pixels = gain_.size();
  // A few: more than a hundredth would be another kind of detector, and slow to place.
  const std::size_t wanted = std::min<std::size_t>(options_.defects, pixels / 100);
  CounterRandom random(CounterRandom::key(options_.seed, kDefectStream), 0);
  for (std::size_t marked = 0, tries = 0; marked < wanted && tries < 100 * wanted; ++tries) {
    float& gain = gain_[random.bits() % pixels];
    if (gain < 0) continue;
    gain = static_cast<float>(kDefect);
    ++marked;
  }
}

Image<std::int32_t> PowderScan::frame(std::uint64_t i) const {
  if (i >= options_.frames) {
    throw Error(ErrorKind::kUsage, fmt::format("simulated frame {}", i),
                fmt::format("the scan has {} frames", options_.frames), "ask for more frames");
  }
  const std::vector<float> table = patterns_->table(i);
  const PoissonSampler& sampler = PoissonSampler::instance();
  const std::uint64_t key = CounterRandom::key(options_.seed, i);
  constexpr std::uint32_t kFraction = (1u << kPositionBits) - 1;
  constexpr float kUnit = 1.0f / (1 << kPositionBits);

  Image<std::int32_t> image{shape(), std::vector<std::int32_t>(gain_.size())};
  for (std::size_t pixel = 0; pixel < gain_.size(); ++pixel) {
    const float gain = gain_[pixel];
    if (gain < 0) {
      image.pixels[pixel] = static_cast<std::int32_t>(gain);
      continue;
    }
    const std::uint32_t node = position_[pixel] >> kPositionBits;
    const float fraction = static_cast<float>(position_[pixel] & kFraction) * kUnit;
    const float value = table[node] + (table[node + 1] - table[node]) * fraction;
    CounterRandom random(key, pixel);
    const std::int64_t counts = sampler.draw(static_cast<double>(value * gain), random);
    image.pixels[pixel] = static_cast<std::int32_t>(std::min(counts, options_.count_cutoff + 1));
  }
  return image;
}

double PowderScan::expected_pattern(double two_theta, std::uint64_t frame) const {
  return patterns_->expected(std::sin(two_theta / 2), frame);
}

}  // namespace annulus
