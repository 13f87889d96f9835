// The definitions of docs/numerics.md, word for word and in 128-bit integers: what backends are held against.
#pragma once

#include <annulus/plan/recipe.hpp>

#include <stdexcept>
#include <vector>

namespace annulus::testing {

__extension__ using Wide = __int128;

inline std::int64_t narrow(Wide value) {
  if (value > INT64_MAX || value < INT64_MIN) throw std::overflow_error("a sum left 64 bits");
  return static_cast<std::int64_t>(value);
}

// `pixels` are the frame's values, however they were packed.
inline Sums reduce_naively(const Plan& plan, const std::vector<std::int64_t>& pixels, int fraction_bits,
                           const Recipe& recipe = {}) {
  const std::size_t bins = plan.bins();
  std::vector<Wide> signal(bins), variance(bins), norm(bins), dark(bins), count(bins);
  Sums sums;
  for (std::size_t pixel = 0; pixel < pixels.size(); ++pixel) {
    const std::int64_t raw = pixels[pixel];
    const bool dummy = raw >= plan.validity.dummy_low && raw <= plan.validity.dummy_high;
    const bool saturated = raw > plan.validity.max_count || -raw > plan.validity.max_count;
    const bool used = plan.matrix.first[pixel] < plan.matrix.first[pixel + 1];
    if (used && (dummy || saturated)) ++sums.invalid_pixels;
    for (std::uint32_t entry = plan.matrix.first[pixel]; entry < plan.matrix.first[pixel + 1]; ++entry) {
      const Wide weight = plan.matrix.weight[entry];
      const std::uint32_t bin = plan.matrix.bin[entry];
      if (dummy || saturated) {
        norm[bin] += weight * plan.normalization[pixel];
        count[bin] += weight;
        if (!plan.dark.empty()) dark[bin] += weight * plan.dark[pixel];
        continue;
      }
      signal[bin] += weight * raw;
      const int shift = 2 * plan.weight_bits - plan.variance_bits;
      Wide square = weight * weight;
      if (shift > 0) square = (square + (Wide{1} << (shift - 1))) >> shift;
      if (square == 0) square = 1;
      const Wide one = fraction_bits >= 0 && fraction_bits <= 28 ? Wide{1} << fraction_bits : Wide{0};
      variance[bin] += square * (raw > one ? Wide{raw} : one);
    }
  }
  const auto narrowed = [](const std::vector<Wide>& values) {
    std::vector<std::int64_t> result;
    for (const Wide value : values) result.push_back(narrow(value));
    return result;
  };
  sums.set(Quantity::kSignal, narrowed(signal));
  if (recipe.has_variance()) sums.set(Quantity::kVariance, narrowed(variance));
  if (sums.invalid_pixels > 0) {
    sums.set(Quantity::kMissingNormalization, narrowed(norm));
    sums.set(Quantity::kMissingCount, narrowed(count));
    if (!plan.dark.empty()) sums.set(Quantity::kMissingDark, narrowed(dark));
  }
  sums.fraction_bits = fraction_bits;
  return sums;
}

}  // namespace annulus::testing
