#include <tools/simulate/beam.hpp>
#include <tools/simulate/phantom_pattern.hpp>

#include <algorithm>

namespace annulus {

PhantomPattern::PhantomPattern(const Settings& settings)
    : settings_(settings),
      phantom_(phantom_of(settings.phantom, settings.seed)),
      points_(scan_points(settings.phantom, settings.seed)),
      grid_(node_grid(settings.pattern)) {
  // The brightest ring has its full counts in a beam along the diameter of the disc with most to scatter.
  double longest = 0;
  for (const Disc& disc : phantom_.discs()) longest = std::max(longest, 2 * disc.radius * disc.density);
  per_millimetre_ = 1 / longest;
  background_table_.resize(grid_.nodes);
  for (std::size_t i = 0; i < grid_.nodes; ++i) background_table_[i] = background(grid_.x(i));
  for (const Calibrant phase : phantom_.phases()) {
    if (settings.phantom.absorption) attenuation_.push_back(attenuation_of(phase, settings.energy_kev));
    rings_.emplace_back(phase, settings.pattern, 0);
    pure_tables_.emplace_back(grid_.nodes);
    rings_.back().add_to(pure_tables_.back(), grid_, 1, per_millimetre_);
  }
}

double PhantomPattern::monitor(std::uint64_t frame) const {
  return beam_intensity(settings_.beam_variation, settings_.seed, frame);
}

Phantom::Paths PhantomPattern::paths(std::uint64_t frame) const {
  const ScanPoint& point = points_[frame];
  return phantom_.paths(point.translation - settings_.phantom.axis_offset,
                        portable::sin_cos_turns(point.angle / 360), attenuation_);
}

double PhantomPattern::pure(std::size_t phase, double x) const {
  return rings_[phase].at(x, 1, per_millimetre_);
}

double PhantomPattern::expected(double x, std::uint64_t frame) const {
  const Phantom::Paths now = paths(frame);
  double sum = background(x);
  for (std::size_t phase = 0; phase < rings_.size(); ++phase) sum += now.scattering[phase] * pure(phase, x);
  return sum * monitor(frame);
}

std::vector<float> PhantomPattern::table(std::uint64_t frame) const {
  const Phantom::Paths now = paths(frame);
  const double beam = monitor(frame);
  std::vector<double> sums = background_table_;
  for (std::size_t phase = 0; phase < rings_.size(); ++phase) {
    const double path = now.scattering[phase];
    if (path == 0) continue;
    for (std::size_t i = 0; i < grid_.nodes; ++i) sums[i] += path * pure_tables_[phase][i];
  }
  std::vector<float> table(grid_.nodes);
  for (std::size_t i = 0; i < grid_.nodes; ++i) table[i] = static_cast<float>(sums[i] * beam);
  return table;
}

}  // namespace annulus
