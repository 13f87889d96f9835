#include <annulus/backends/fpga/sum_bounds.hpp>
#include <annulus/plan/fixed_point.hpp>

#include <cstdlib>
#include <limits>

namespace annulus {
namespace {

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

void add(std::int64_t& sum, std::int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = kUnbounded;
}

}  // namespace

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kUnbounded : product;
}

SumBounds sum_bounds(const Plan& plan, const Recipe& recipe) {
  const SparseMatrix& matrix = plan.matrix;
  SumBounds bounds;
  bounds.max_count = plan.validity.max_count;
  bounds.count.resize(plan.bins());
  bounds.squares.resize(recipe.has_variance() ? plan.bins() : 0);
  bounds.normalization.resize(plan.bins());
  bounds.dark.resize(plan.dark.empty() ? 0 : plan.bins());
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    bounds.pixels += matrix.first[pixel] < matrix.first[pixel + 1];
    for (std::uint32_t entry = matrix.first[pixel]; entry < matrix.first[pixel + 1]; ++entry) {
      const std::uint32_t bin = matrix.bin[entry], weight = matrix.weight[entry];
      add(bounds.count[bin], weight);
      if (!bounds.squares.empty())
        add(bounds.squares[bin], squared_weight(weight, plan.weight_bits, plan.variance_bits));
      add(bounds.normalization[bin],
          saturating_product(weight, std::abs(std::int64_t{plan.normalization[pixel]})));
      if (!bounds.dark.empty())
        add(bounds.dark[bin], saturating_product(weight, std::abs(std::int64_t{plan.dark[pixel]})));
    }
  }
  return bounds;
}

}  // namespace annulus
