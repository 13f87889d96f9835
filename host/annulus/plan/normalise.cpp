#include <annulus/plan/bin_values.hpp>
#include <annulus/plan/recipe.hpp>
#include <annulus/plan/sums.hpp>

#include <cmath>
#include <limits>

namespace annulus {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// 0 where the pixels differ as counting statistics lets them. The mean is made of the pixels themselves,
// which lessens their spread.
double spottiness(const BinValues& values, std::size_t bin) {
  const double norm = values.normalization(bin);
  const double expected = values.variance(bin) * (1 - values.squares(bin) / (norm * norm));
  return expected > 0 ? values.spread(bin) / expected - 1 : kNoNumber;
}

}  // namespace

Pattern normalise(const Plan& plan, const Recipe& recipe, const Sums& sums, double factor) {
  const BinValues values(plan, sums);
  const std::size_t bins = plan.bins();
  Pattern pattern;
  pattern.intensity = PooledArray<double>(bins, kNoNumber);
  if (recipe.has_errors()) pattern.error = PooledArray<double>(bins, kNoNumber);
  if (recipe.has_deviation()) pattern.deviation = PooledArray<double>(bins, kNoNumber);
  if (recipe.spottiness) pattern.spottiness = PooledArray<double>(bins, kNoNumber);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const double denominator = values.normalization(bin) * factor;
    if (values.is_empty(bin) || denominator == 0) continue;
    pattern.intensity[bin] = values.net_signal(bin) / denominator;
    if (recipe.spottiness) pattern.spottiness[bin] = spottiness(values, bin);
    if (!recipe.has_errors()) continue;
    const double variance =
        recipe.error_model == ErrorModel::kAzimuthal ? values.spread(bin) : values.variance(bin);
    pattern.error[bin] = std::sqrt(variance) / denominator;
    if (recipe.has_deviation()) pattern.deviation[bin] = std::sqrt(variance / values.squares(bin)) / factor;
  }
  return pattern;
}

Pattern normalise(const Plan& plan, const Sums& sums, double factor) {
  Recipe recipe;
  if (sums.has(Quantity::kVariance)) recipe.error_model = ErrorModel::kPoisson;
  return normalise(plan, recipe, sums, factor);
}

}  // namespace annulus
