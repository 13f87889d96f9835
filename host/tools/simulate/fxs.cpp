#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/simulate/fxs.hpp>
#include <tools/simulate/poisson.hpp>
#include <tools/simulate/portable_math.hpp>

#include <algorithm>
#include <utility>

namespace annulus {
namespace {

// Streams of random numbers of a shot beside those of its pixels.
constexpr std::uint64_t kBeamStream = ~std::uint64_t{0};
constexpr std::uint64_t kFirstParticleStream = std::uint64_t{1} << 62;

constexpr double kMostTruthValues = 1 << 28;  // 2 GiB

void check(const FxsOptions& options, const QRange& range, double wavelength) {
  require_within("`frames`", static_cast<double>(options.frames), 1, 1e9);
  require_within("`particles`", static_cast<double>(options.particles), 1, 10000);
  require_within("`photons`", options.photons, 1e-6, 1e15);
  require_within("`beam_variation`", options.beam_variation, 0, 1);
  require_within("`blank`", options.blank, 0, 1);
  require_within("`npt`", options.rings, 1, 2000);
  require_within("`npt_azim`", options.angles, 2, 100000);
  const double values = 0.5 * options.rings * (options.rings + 1.0) * options.angles;
  if (values > kMostTruthValues) {
    throw Error(ErrorKind::kUsage, "`npt`, `npt_azim`",
                fmt::format("the expected correlation would have {:.1e} values", values),
                "give fewer rings or angles");
  }
  const double furthest = 4 * portable::kPi / wavelength;
  require_within("`radial_range` (1/nm), its first value", range.low, 0, furthest);
  require_within("`radial_range` (1/nm), its last value", range.high, range.low, furthest);
  if (range.high == range.low) {
    throw Error(ErrorKind::kUsage, "`radial_range`", "it is empty", "give a last value above the first");
  }
}

}  // namespace

FxsOptions::FxsOptions() {
  detector = "Eiger1M";
  energy_kev = 9;
  beam_offset1 = 0;
  beam_offset2 = 0;
}

FxsSample::FxsSample(FxsOptions options, QRange q_range)
    : options_(std::move(options)), wavelength_(wavelength_of(options_) * 1e9) {
  const QRange range = options_.q_range.value_or(q_range);
  check(options_, range, wavelength_);
  particle_ = particle_from_name(options_.particle, options_.seed);
  particle_.insert(particle_.end(), options_.gaussians.begin(), options_.gaussians.end());
  annulus::check(particle_);
  const double step = (range.high - range.low) / options_.rings;
  for (std::uint32_t ring = 0; ring < options_.rings; ++ring)
    rings_.push_back(range.low + (ring + 0.5) * step);
}

double FxsSample::beam(std::uint64_t shot) const {
  CounterRandom random(CounterRandom::key(options_.seed, shot), kBeamStream);
  const double change = 2 * random.uniform() - 1;
  if (random.uniform() < options_.blank) return 0;
  return 1 + options_.beam_variation * change;
}

std::vector<Orientation> FxsSample::orientations(std::uint64_t shot) const {
  std::vector<Orientation> all;
  for (std::uint64_t i = 0; i < options_.particles; ++i) {
    CounterRandom random(CounterRandom::key(options_.seed, shot), kFirstParticleStream + i);
    all.push_back(random_orientation(random));
  }
  return all;
}

std::vector<double> FxsSample::shot(std::uint64_t shot, const ParticleIntensity& intensity) const {
  std::vector<double> values(intensity.vectors().size());
  const double strength = beam(shot);
  if (strength == 0) return values;
  for (const Orientation& orientation : orientations(shot)) intensity.add(orientation, values);
  for (double& value : values) value *= strength;
  return values;
}

double FxsSample::count(double mean, std::uint64_t shot, std::uint64_t place) const {
  if (options_.noiseless) return mean;
  CounterRandom random(CounterRandom::key(options_.seed, shot), place);
  constexpr double kMostOfAPixel = 0x1p40;
  return static_cast<double>(PoissonSampler::instance().draw(std::min(mean, kMostOfAPixel), random));
}

}  // namespace annulus
