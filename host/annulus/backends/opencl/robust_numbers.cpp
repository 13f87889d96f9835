#include <annulus/backends/opencl/robust_numbers.hpp>
#include <annulus/plan/spread_table.hpp>

#include <bit>

namespace annulus::opencl {
namespace {

// As in kernels/robust.cl.
unsigned first_word(Quantity quantity) {
  switch (quantity) {
    case Quantity::kSignal:
      return 0;
    case Quantity::kVariance:
      return 1;
    case Quantity::kSquares:
      return 2;
    case Quantity::kProducts:
      return 4;
    case Quantity::kMissingNormalization:
      return 6;
    case Quantity::kMissingDark:
      return 7;
    case Quantity::kMissingCount:
      return 8;
    case Quantity::kClipped:
      return 9;
    default:
      return 10;  // kMissingSquares
  }
}

}  // namespace

bool has_two_words(Quantity quantity) {
  return quantity == Quantity::kSquares || quantity == Quantity::kProducts ||
         quantity == Quantity::kMissingSquares;
}

std::size_t RobustNumbers::place_of(Quantity quantity) const {
  return static_cast<std::size_t>(std::popcount(wanted & ((1u << first_word(quantity)) - 1)));
}

RobustNumbers robust_numbers(const Job& job) {
  RobustNumbers numbers;
  if (job.recipe.beyond_sums().empty()) return numbers;
  const SpreadTable& table = *job.plan->spread;
  numbers.square_shift = static_cast<cl_uint>(2 * job.plan->weight_bits - table.square_bits);
  numbers.dark_shift = static_cast<cl_uint>(table.dark_shift);
  numbers.by_rank = job.recipe.clip.by_rank() ? 1 : 0;
  for (const Quantity quantity : job.quantities_of_passes()) {
    if (quantity == Quantity::kEmptied) continue;  // the host knows
    numbers.wanted |= (has_two_words(quantity) ? 3u : 1u) << first_word(quantity);
  }
  numbers.words = static_cast<cl_uint>(std::popcount(numbers.wanted));
  return numbers;
}

}  // namespace annulus::opencl
