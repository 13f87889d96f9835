#include <tools/simulate/beam.hpp>
#include <tools/simulate/powder_pattern.hpp>

#include <algorithm>

namespace annulus {
namespace {

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

PowderPattern::PowderPattern(const Settings& settings)
    : settings_(settings),
      grid_(node_grid(settings.pattern)),
      sample_(settings.calibrant, settings.pattern, settings.expansion) {
  if (settings.product) product_.emplace(*settings.product, settings.pattern, settings.expansion);
}

PowderPattern::Moment PowderPattern::moment(std::uint64_t frame) const {
  Moment moment;
  const double t =
      settings_.frames > 1 ? static_cast<double>(frame) / static_cast<double>(settings_.frames - 1) : 0;
  moment.stretch = 1 + settings_.expansion * t;
  if (product_) moment.transformed = smooth_step((t - 0.4) / 0.35);
  moment.beam = beam_intensity(settings_.beam_variation, settings_.seed, frame);
  return moment;
}

double PowderPattern::expected(double x, std::uint64_t frame) const {
  const Moment now = moment(frame);
  double sum = background_at(x, settings_.pattern) + sample_.at(x, now.stretch, 1 - now.transformed);
  if (product_) sum += product_->at(x, now.stretch, now.transformed);
  return sum * now.beam;
}

std::vector<float> PowderPattern::table(std::uint64_t frame) const {
  const Moment now = moment(frame);
  std::vector<double> sums(grid_.nodes);
  for (std::size_t i = 0; i < grid_.nodes; ++i) sums[i] = background_at(grid_.x(i), settings_.pattern);
  sample_.add_to(sums, grid_, now.stretch, 1 - now.transformed);
  if (product_) product_->add_to(sums, grid_, now.stretch, now.transformed);
  std::vector<float> table(grid_.nodes);
  for (std::size_t i = 0; i < grid_.nodes; ++i) table[i] = static_cast<float>(sums[i] * now.beam);
  return table;
}

}  // namespace annulus
