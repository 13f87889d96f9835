#include <tools/simulate/poisson.hpp>
#include <tools/simulate/portable_math.hpp>

#include <algorithm>
#include <cmath>

namespace annulus {
namespace {

constexpr double kTableLimit = 4096;
constexpr unsigned kSteps = 256;  // of each level

// Poisson, mean < 1/16, by inversion.
std::uint32_t draw_small(double mean, std::uint32_t bits) {
  double u = (static_cast<double>(bits) + 0.5) * 0x1p-32;
  if (u < 1 - mean) return 0;  // below exp(-mean): nearly always
  double p = portable::exp(-mean);
  std::uint32_t k = 0;
  while (u >= p && k < 16) {
    u -= p;
    ++k;
    p *= mean / k;
  }
  return k;
}

// W. Hoermann, "The transformed rejection method for generating Poisson random variables", 1993.
std::int64_t draw_large(double mean, CounterRandom& random) {
  const double b = 0.931 + 2.53 * std::sqrt(mean);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = random.uniform() - 0.5;
    const double v = 1 - random.uniform();  // (0, 1]
    const double us = 0.5 - std::fabs(u);
    if (us <= 0) continue;
    const double k = std::floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= v_r) return static_cast<std::int64_t>(k);
    // Counts below half of a mean above 4096 have a probability below 1e-250; Stirling holds above.
    if (k < mean / 2 || (us < 0.013 && v > us)) continue;
    const double accept = portable::log(v * inverse_alpha / (a / (us * us) + b));
    const double log_probability =
        k * portable::log(mean / k) + (k - mean) - 0.5 * portable::log(2 * portable::kPi * k) - 1 / (12 * k);
    if (accept <= log_probability) return static_cast<std::int64_t>(k);
  }
}

}  // namespace

const PoissonSampler& PoissonSampler::instance() {
  static const PoissonSampler sampler;
  return sampler;
}

PoissonSampler::PoissonSampler() {
  tables_.reserve(2 * kSteps);
  for (unsigned b = 0; b < kSteps; ++b) tables_.push_back(build(b / 16.0));
  for (unsigned a = 0; a < kSteps; ++a) tables_.push_back(build(a * 16.0));
}

PoissonSampler::Table PoissonSampler::build(double mean) {
  // From the mode outwards by p(k + 1) = p(k) mean / (k + 1), normalised at the end: no exp is needed.
  const double mode = std::floor(mean);
  std::vector<double> below;  // mode - 1, mode - 2, ...
  double p = 1;
  for (double k = mode; k > 0 && p > 1e-14; --k) below.push_back(p *= k / mean);
  std::vector<double> probability(below.rbegin(), below.rend());
  probability.push_back(1);
  p = 1;
  for (double k = mode + 1; mean > 0 && p > 1e-14; ++k) probability.push_back(p *= mean / k);
  double sum = 0;
  for (const double value : probability) sum += value;

  // Counts too improbable for any of the 2^32 quantiles are left out at both ends.
  Table table{static_cast<std::uint32_t>(quantiles_.size()),
              static_cast<std::uint32_t>(mode - static_cast<double>(below.size()))};
  double cumulative = 0;
  for (const double value : probability) {
    cumulative += value / sum;
    const double scaled = std::floor(cumulative * 0x1p32 + 0.5);
    if (scaled >= 0x1p32) break;
    if (scaled < 1) {
      ++table.smallest;
    } else {
      quantiles_.push_back(static_cast<std::uint32_t>(scaled - 1));
    }
  }
  quantiles_.push_back(0xffffffffu);  // every u ends somewhere

  std::uint16_t k = 0;
  for (std::uint32_t byte = 0; byte < (1u << kGuideBits); ++byte) {
    while (quantiles_[table.begin + k] < byte << (32 - kGuideBits)) ++k;
    guides_.push_back(k);
  }
  return table;
}

std::int64_t PoissonSampler::draw(double mean, CounterRandom& random) const {
  if (!(mean > 0)) return 0;
  if (mean >= kTableLimit) return draw_large(std::min(mean, 0x1p40), random);
  const auto sixteenths = static_cast<std::uint32_t>(mean * 16);
  const std::uint64_t bits = random.bits();
  std::uint32_t count = look_up(sixteenths % kSteps, static_cast<std::uint32_t>(bits));
  count += draw_small(mean - sixteenths / 16.0, static_cast<std::uint32_t>(bits >> 32));
  const std::uint32_t coarse = sixteenths / kSteps;
  if (coarse > 0) count += look_up(kSteps + coarse, static_cast<std::uint32_t>(random.bits()));
  return count;
}

}  // namespace annulus
