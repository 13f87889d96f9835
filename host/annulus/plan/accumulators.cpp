#include <annulus/plan/accumulators.hpp>

namespace annulus {

void subtract_invalid(const Plan& plan, const std::vector<std::uint32_t>& invalid_pixels,
                      Accumulators& sums) {
  sums.invalid_pixels = invalid_pixels.size();
  if (invalid_pixels.empty()) return;
  sums.missing_normalization.assign(plan.bins(), 0);
  sums.missing_count.assign(plan.bins(), 0);
  if (!plan.dark.empty()) sums.missing_dark.assign(plan.bins(), 0);
  for (const std::uint32_t pixel : invalid_pixels) {
    for (std::uint32_t entry = plan.matrix.first[pixel]; entry < plan.matrix.first[pixel + 1]; ++entry) {
      const std::uint32_t bin = plan.matrix.bin[entry];
      const std::int64_t weight = plan.matrix.weight[entry];
      sums.missing_normalization[bin] += weight * plan.normalization[pixel];
      sums.missing_count[bin] += weight;
      if (!plan.dark.empty()) sums.missing_dark[bin] += weight * plan.dark[pixel];
    }
  }
}

}  // namespace annulus
