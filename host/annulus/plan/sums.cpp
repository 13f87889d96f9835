#include <annulus/plan/sums.hpp>

namespace annulus {

void subtract_invalid(const Plan& plan, const std::vector<std::uint32_t>& invalid_pixels, Sums& sums) {
  sums.invalid_pixels = invalid_pixels.size();
  if (invalid_pixels.empty()) return;
  const auto normalization = sums.make(Quantity::kMissingNormalization, plan.bins());
  const auto count = sums.make(Quantity::kMissingCount, plan.bins());
  const auto dark = sums.make(Quantity::kMissingDark, plan.dark.empty() ? 0 : plan.bins());
  for (const std::uint32_t pixel : invalid_pixels) {
    for (std::uint32_t entry = plan.matrix.first[pixel]; entry < plan.matrix.first[pixel + 1]; ++entry) {
      const std::uint32_t bin = plan.matrix.bin[entry];
      const std::int64_t weight = plan.matrix.weight[entry];
      normalization[bin] += weight * plan.normalization[pixel];
      count[bin] += weight;
      if (!dark.empty()) dark[bin] += weight * plan.dark[pixel];
    }
  }
}

}  // namespace annulus
