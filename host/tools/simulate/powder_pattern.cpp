#include <tools/simulate/poisson.hpp>
#include <tools/simulate/portable_math.hpp>
#include <tools/simulate/powder_pattern.hpp>

#include <algorithm>
#include <cmath>

namespace annulus {
namespace {

constexpr double kNodesPerWidth = 40;  // linear interpolation is then right to 1e-3 of a ring
constexpr double kMaxNodes = 1 << 20;  // so that positions in the table fit 32 bits with their fraction
constexpr double kMinNodes = 1024;
constexpr double kReach = 25;        // widths from its centre at which a ring ends
constexpr double kLorentzian = 0.4;  // share of it in the pseudo-Voigt profile
constexpr std::uint64_t kTopUpFrames = 40;

// Rises smoothly from 0 at t = 0 to 1 at t = 1.
double smooth_step(double t) {
  t = std::clamp(t, 0.0, 1.0);
  return t * t * (3 - 2 * t);
}

}  // namespace

struct PowderPattern::Moment {
  double beam = 1;
  double stretch = 1;      // of all lattices
  double transformed = 0;  // share of the sample that is the product
};

struct PowderPattern::Profile {
  double centre = 0;
  double width = 1;
  double top = 0;

  double at(double x) const {
    const double u = (x - centre) / width;
    const double square = 4 * u * u;
    if (square >= 4 * kReach * kReach) return 0;
    constexpr double kEnd = 1 / (1 + 4 * kReach * kReach);  // taken off, so that the tails end without a step
    const double lorentzian = 1 / (1 + square) - kEnd;
    const double gaussian = portable::exp(-0.69314718055994531 * square);
    return top * (kLorentzian * lorentzian + (1 - kLorentzian) * gaussian);
  }
};

PowderPattern::PowderPattern(const Settings& settings) : settings_(settings) {
  rings_ = rings_of(settings.calibrant, false);
  if (settings.product) {
    const std::vector<Ring> others = rings_of(*settings.product, true);
    rings_.insert(rings_.end(), others.begin(), others.end());
  }
  const double range = settings.x_high - settings.x_low;
  const double cosine = std::sqrt(std::max(1 - settings.x_high * settings.x_high, 0.01));
  const double narrowest = settings.ring_width / 2 * cosine;
  const double intervals =
      std::clamp(std::ceil(kNodesPerWidth * range / narrowest), kMinNodes, kMaxNodes - 2);
  node_distance_ = range > 0 ? range / intervals : 1;
  nodes_ = static_cast<std::size_t>(intervals) + 2;
}

std::vector<PowderPattern::Ring> PowderPattern::rings_of(Calibrant calibrant, bool product) const {
  // Rings just outside still reach in with their tails, or come in as the lattice grows.
  const double margin = kReach * settings_.ring_width / 2 + std::fabs(settings_.expansion);
  const double x_limit = std::min(settings_.x_high * (1 + std::fabs(settings_.expansion)) + margin, 0.995);
  std::vector<Ring> rings;
  double brightest = 0;
  for (const Reflection& reflection : reflections(calibrant, settings_.wavelength / (2 * x_limit))) {
    Ring ring;
    ring.x = settings_.wavelength / (2 * reflection.spacing);
    if (ring.x >= 0.995) continue;  // backscattering: beyond any flat detector in practice
    ring.product = product;
    // Lorentz factor of a powder ring, per length of its circumference.
    ring.counts = reflection.strength / (ring.x * ring.x * std::sqrt(1 - ring.x * ring.x));
    if (ring.x >= settings_.x_low && ring.x <= settings_.x_high) brightest = std::max(brightest, ring.counts);
    rings.push_back(ring);
  }
  if (brightest == 0) {
    for (const Ring& ring : rings) brightest = std::max(brightest, ring.counts);
  }
  for (Ring& ring : rings) ring.counts *= settings_.ring_counts / brightest;
  return rings;
}

PowderPattern::Moment PowderPattern::moment(std::uint64_t frame) const {
  Moment moment;
  const double t =
      settings_.frames > 1 ? static_cast<double>(frame) / static_cast<double>(settings_.frames - 1) : 0;
  moment.stretch = 1 + settings_.expansion * t;
  if (settings_.product) moment.transformed = smooth_step((t - 0.4) / 0.35);
  // The stored beam decays until the next top-up, and flickers a little.
  const double decay = static_cast<double>(frame % kTopUpFrames) / kTopUpFrames;
  CounterRandom random(CounterRandom::key(settings_.seed, frame), ~std::uint64_t{0});
  moment.beam = 1 - settings_.beam_variation * (0.9 * decay + 0.1 * random.uniform());
  return moment;
}

PowderPattern::Profile PowderPattern::profile(const Ring& ring, const Moment& moment) const {
  Profile profile;
  profile.centre = ring.x / moment.stretch;
  // d(sin theta) = cos(theta) / 2 * d(2 theta)
  profile.width = settings_.ring_width / 2 * std::sqrt(std::max(1 - profile.centre * profile.centre, 0.01));
  profile.top = ring.counts * (ring.product ? moment.transformed : 1 - moment.transformed);
  return profile;
}

double PowderPattern::background(double x) const {
  // Air scattering that falls with q, and the halo of a glass capillary.
  const double q = 4 * portable::kPi * x / settings_.wavelength;
  const double air = 0.25 + 0.45 / (1 + q * q / 2.25);
  const double halo = (q - 1.7) / 0.6;
  return settings_.background * (air + 0.3 * portable::exp(-halo * halo));
}

double PowderPattern::expected(double x, std::uint64_t frame) const {
  const Moment now = moment(frame);
  double sum = background(x);
  for (const Ring& ring : rings_) sum += profile(ring, now).at(x);
  return sum * now.beam;
}

std::vector<float> PowderPattern::table(std::uint64_t frame) const {
  const Moment now = moment(frame);
  std::vector<double> sums(nodes_);
  for (std::size_t i = 0; i < nodes_; ++i) {
    sums[i] = background(settings_.x_low + static_cast<double>(i) * node_distance_);
  }
  for (const Ring& ring : rings_) {
    const Profile shape = profile(ring, now);
    if (shape.top == 0) continue;
    const auto node = [&](double x) {
      return static_cast<std::size_t>(
          std::clamp((x - settings_.x_low) / node_distance_, 0.0, static_cast<double>(nodes_)));
    };
    const std::size_t end = std::min(node(shape.centre + kReach * shape.width) + 1, nodes_);
    for (std::size_t i = node(shape.centre - kReach * shape.width); i < end; ++i) {
      sums[i] += shape.at(settings_.x_low + static_cast<double>(i) * node_distance_);
    }
  }
  std::vector<float> table(nodes_);
  for (std::size_t i = 0; i < nodes_; ++i) table[i] = static_cast<float>(sums[i] * now.beam);
  return table;
}

}  // namespace annulus
