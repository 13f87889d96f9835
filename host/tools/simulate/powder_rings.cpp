#include <tools/simulate/portable_math.hpp>
#include <tools/simulate/powder_rings.hpp>

#include <algorithm>
#include <cmath>

namespace annulus {
namespace {

constexpr double kNodesPerWidth = 40;  // linear interpolation is then right to 1e-3 of a ring
constexpr double kMaxNodes = 1 << 20;  // so that positions in the table fit 32 bits with their fraction
constexpr double kMinNodes = 1024;
constexpr double kReach = 25;        // widths from its centre at which a ring ends
constexpr double kLorentzian = 0.4;  // share of it in the pseudo-Voigt profile

}  // namespace

NodeGrid node_grid(const PatternSettings& settings) {
  const double range = settings.x_high - settings.x_low;
  const double cosine = std::sqrt(std::max(1 - settings.x_high * settings.x_high, 0.01));
  const double narrowest = settings.ring_width / 2 * cosine;
  const double intervals =
      std::clamp(std::ceil(kNodesPerWidth * range / narrowest), kMinNodes, kMaxNodes - 2);
  return {settings.x_low, range > 0 ? range / intervals : 1, static_cast<std::size_t>(intervals) + 2};
}

double background_at(double x, const PatternSettings& settings) {
  // Air scattering that falls with q, and the halo of a glass capillary.
  const double q = 4 * portable::kPi * x / settings.wavelength;
  const double air = 0.25 + 0.45 / (1 + q * q / 2.25);
  const double halo = (q - 1.7) / 0.6;
  return settings.background * (air + 0.3 * portable::exp(-halo * halo));
}

struct PowderRings::Profile {
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

PowderRings::PowderRings(Calibrant calibrant, const PatternSettings& settings, double expansion)
    : ring_width_(settings.ring_width) {
  // Rings just outside still reach in with their tails, or come in as the lattice grows.
  const double margin = kReach * ring_width_ / 2 + std::fabs(expansion);
  const double x_limit = std::min(settings.x_high * (1 + std::fabs(expansion)) + margin, 0.995);
  double brightest = 0;
  for (const Reflection& reflection : reflections(calibrant, settings.wavelength / (2 * x_limit))) {
    Ring ring;
    ring.x = settings.wavelength / (2 * reflection.spacing);
    if (ring.x >= 0.995) continue;  // backscattering: beyond any flat detector in practice
    // Lorentz factor of a powder ring, per length of its circumference.
    ring.counts = reflection.strength / (ring.x * ring.x * std::sqrt(1 - ring.x * ring.x));
    if (ring.x >= settings.x_low && ring.x <= settings.x_high) brightest = std::max(brightest, ring.counts);
    rings_.push_back(ring);
  }
  if (brightest == 0) {
    for (const Ring& ring : rings_) brightest = std::max(brightest, ring.counts);
  }
  for (Ring& ring : rings_) ring.counts *= settings.ring_counts / brightest;
}

PowderRings::Profile PowderRings::profile(const Ring& ring, double stretch, double share) const {
  Profile profile;
  profile.centre = ring.x / stretch;
  // d(sin theta) = cos(theta) / 2 * d(2 theta)
  profile.width = ring_width_ / 2 * std::sqrt(std::max(1 - profile.centre * profile.centre, 0.01));
  profile.top = ring.counts * share;
  return profile;
}

double PowderRings::at(double x, double stretch, double share) const {
  double sum = 0;
  for (const Ring& ring : rings_) sum += profile(ring, stretch, share).at(x);
  return sum;
}

void PowderRings::add_to(std::vector<double>& sums, const NodeGrid& grid, double stretch,
                         double share) const {
  for (const Ring& ring : rings_) {
    const Profile shape = profile(ring, stretch, share);
    if (shape.top == 0) continue;
    const auto node = [&](double x) {
      return static_cast<std::size_t>(
          std::clamp((x - grid.x_low) / grid.distance, 0.0, static_cast<double>(grid.nodes)));
    };
    const std::size_t end = std::min(node(shape.centre + kReach * shape.width) + 1, grid.nodes);
    for (std::size_t i = node(shape.centre - kReach * shape.width); i < end; ++i) {
      sums[i] += shape.at(grid.x(i));
    }
  }
}

}  // namespace annulus
