#include <annulus/plan/sum_units.hpp>
#include <annulus/plan/sums.hpp>

#include <cmath>
#include <limits>

namespace annulus {
Pattern normalise(const Plan& plan, const Sums& sums, double factor) {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  const SumUnits unit(plan, sums.fraction_bits);
  const auto missing_count = sums[Quantity::kMissingCount];
  const auto missing_normalization = sums[Quantity::kMissingNormalization];
  const auto missing_dark = sums[Quantity::kMissingDark];
  const bool all_valid = missing_count.empty();

  Pattern pattern;
  const std::size_t bins = plan.bins();
  pattern.intensity = PooledArray<double>(bins);
  if (sums.has(Quantity::kVariance)) pattern.error = PooledArray<double>(bins);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::int64_t count = plan.totals.count[bin] - (all_valid ? 0 : missing_count[bin]);
    std::int64_t norm = plan.totals.normalization[bin] - (all_valid ? 0 : missing_normalization[bin]);
    const double denominator = static_cast<double>(norm) * unit.normalization * factor;
    if (count == 0 || denominator == 0) {
      pattern.intensity[bin] = kNothing;
      if (!pattern.error.empty()) pattern.error[bin] = kNothing;
      continue;
    }
    double signal = unit.signal.times(sums.number(Quantity::kSignal, bin));
    if (!plan.totals.dark.empty()) {
      const std::int64_t dark = plan.totals.dark[bin] - (all_valid ? 0 : missing_dark[bin]);
      signal -= static_cast<double>(dark) * unit.dark;
    }
    pattern.intensity[bin] = signal / denominator;
    if (!pattern.error.empty()) {
      const double variance = unit.variance.times(sums.number(Quantity::kVariance, bin));
      pattern.error[bin] = std::sqrt(variance) / denominator;
    }
  }
  return pattern;
}

}  // namespace annulus
