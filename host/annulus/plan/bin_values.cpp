#include <annulus/plan/bin_values.hpp>
#include <annulus/plan/spread_table.hpp>
#include <annulus/plan/wide_sum.hpp>

#include <algorithm>
#include <cmath>

namespace annulus {
namespace {

// Of words, the second of which may be absent.
double number(const Sums& sums, Quantity quantity, std::size_t bin) { return sums.number(quantity, bin); }

}  // namespace

BinValues::BinValues(const Plan& plan, const Sums& sums)
    : plan_(plan),
      sums_(sums),
      all_valid_(!sums.has(Quantity::kMissingCount)),
      unit_(plan, sums.fraction_bits) {}

double BinValues::count(std::size_t bin) const {
  return std::ldexp(static_cast<double>(valid(plan_.totals.count, Quantity::kMissingCount, bin)),
                    -plan_.weight_bits);
}

double BinValues::net_signal(std::size_t bin) const {
  const double signal = unit_.signal.times(number(sums_, Quantity::kSignal, bin));
  if (plan_.totals.dark.empty()) return signal;
  const std::int64_t dark = valid(plan_.totals.dark, Quantity::kMissingDark, bin);
  return signal - static_cast<double>(dark) * unit_.dark;
}

double BinValues::normalization(std::size_t bin) const {
  const std::int64_t norm = valid(plan_.totals.normalization, Quantity::kMissingNormalization, bin);
  return static_cast<double>(norm) * unit_.normalization;
}

double BinValues::variance(std::size_t bin) const {
  return unit_.variance.times(number(sums_, Quantity::kVariance, bin));
}

double BinValues::spread(std::size_t bin) const {
  const SpreadTable& table = *plan_.spread;
  const int value_bits = sums_.fraction_bits + table.dark_shift;
  const double mean = net_signal(bin) / normalization(bin);
  const double squared =
      PowerOfTwo(table.square_bits + 2 * value_bits).times(number(sums_, Quantity::kSquares, bin));
  const double product = PowerOfTwo(table.square_bits + value_bits + table.divisor_bits)
                             .times(number(sums_, Quantity::kProducts, bin));
  return std::max(0.0, squared - 2 * mean * product + mean * mean * squares(bin));
}

double BinValues::squares(std::size_t bin) const {
  const SpreadTable& table = *plan_.spread;
  WideSum<3> sum;
  sum.add(table.squares[bin]);
  sum.add(table.squares_word1[bin], 64);
  if (!all_valid_) {
    for (std::size_t word = 0; word < sums_.words(Quantity::kMissingSquares); ++word) {
      const std::int64_t missing = sums_.word(Quantity::kMissingSquares, word)[bin];
      // In two steps, because the least number has no opposite.
      sum.add(-(missing + 1), 64 * static_cast<int>(word));
      sum.add(1, 64 * static_cast<int>(word));
    }
  }
  return sum.rounded(-(table.square_bits + 2 * table.divisor_bits));
}

}  // namespace annulus
