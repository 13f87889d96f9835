// What the sums of a bin say, in double: the one place where integers become numbers.
#pragma once

#include <annulus/plan/recipe.hpp>
#include <annulus/plan/sum_units.hpp>
#include <annulus/plan/sums.hpp>

namespace annulus {

// Of one frame. `sums` and the plan must live as long.
class BinValues {
 public:
  BinValues(const Plan& plan, const Sums& sums);

  // In pixels.
  double count(std::size_t bin) const;

  // S - D, in counts.
  double net_signal(std::size_t bin) const;

  // N, without the factor of a frame.
  double normalization(std::size_t bin) const;

  // Of counting statistics: V, the square of the error of net_signal().
  double variance(std::size_t bin) const;

  // Of the spread of pixels about their mean (S - D) / N: likewise. Never negative.
  double spread(std::size_t bin) const;

  // The sum of squares of (share x normalisation).
  double squares(std::size_t bin) const;

  bool is_empty(std::size_t bin) const {
    return valid(plan_.totals.count, Quantity::kMissingCount, bin) == 0;
  }

 private:
  std::int64_t valid(const std::vector<std::int64_t>& totals, Quantity missing, std::size_t bin) const {
    return totals[bin] - (all_valid_ ? 0 : sums_[missing][bin]);
  }

  const Plan& plan_;
  const Sums& sums_;
  const bool all_valid_;
  const SumUnits unit_;
};

}  // namespace annulus
