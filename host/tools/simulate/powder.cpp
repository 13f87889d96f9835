#include <annulus/core/parallel.hpp>
#include <annulus/geometry/projection.hpp>

#include <fmt/core.h>
#include <tools/simulate/phantom_file.hpp>
#include <tools/simulate/poisson.hpp>
#include <tools/simulate/portable_math.hpp>
#include <tools/simulate/powder.hpp>
#include <tools/simulate/powder_pattern.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace annulus {
namespace {

constexpr double kTangentOfWidestAngle = 0.96568877480707;  // 44 degrees
constexpr double kMaxCounts = 1e9;

void check(const SimulationOptions& options) {
  require_within("`expansion`", options.expansion, -0.2, 0.2);
  require_within("`beam_variation`", options.beam_variation, 0, 1);
  require_within("`background`", options.background, 0, kMaxCounts);
  require_within("`ring_counts`", options.ring_counts, 0, kMaxCounts);
  if (options.ring_width) require_within("`ring_width` (degree)", *options.ring_width, 0.001, 20);
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
  return beamline_geometry(options, kTangentOfWidestAngle);
}

PowderScan::PowderScan(SimulationOptions options)
    : options_(std::move(options)), geometry_(simulated_geometry(options_)) {
  locate_pixels();
}

std::string PowderScan::title() const { return fmt::format("simulated powder scan, seed {}", options_.seed); }

void PowderScan::write_truth(const std::filesystem::path& path) const {
  if (phantom_) write_phantom_file(path, *this);
}

void PowderScan::locate_pixels() {
  const Shape shape = geometry_.detector.shape;
  const Projection projection(geometry_);
  std::vector<double> sines(shape.size());
  gain_ = pixel_gains(geometry_, options_);
  parallel_ranges(shape.rows, options_.threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const double p1 = projection.centre1(static_cast<std::uint32_t>(row));
      for (std::uint32_t col = 0; col < shape.cols; ++col) {
        const double p2 = projection.centre2(col);
        const Projection::Point point = projection.locate(p1, p2);
        sines[row * shape.cols + col] = sine_of_theta(point);
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

Image<std::int32_t> PowderScan::frame(std::uint64_t i) const {
  check_frame(i);
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
