#include <annulus/xrd_ct/totals.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace annulus {
namespace {

constexpr double kNoTotal = std::numeric_limits<double>::quiet_NaN();

struct KnownSum {
  double sum = 0, count = 0;
};

// Of the values that there are, times weights. Several sums side by side, always in the same order.
template <typename WeightOf>
KnownSum sum_of_known(std::span<const double> values, const WeightOf& weight_of) {
  constexpr std::size_t kSums = 8;
  std::array<double, kSums> sums{}, counts{};
  const auto add = [&](std::size_t lane, std::size_t i) {
    const bool known = !std::isnan(values[i]);
    sums[lane] += known ? values[i] * weight_of(i) : 0;
    counts[lane] += known ? 1 : 0;
  };
  std::size_t i = 0;
  for (; i + kSums <= values.size(); i += kSums) {
    for (std::size_t lane = 0; lane < kSums; ++lane) add(lane, i + lane);
  }
  for (; i < values.size(); ++i) add(i % kSums, i);
  KnownSum all;
  for (std::size_t lane = 0; lane < kSums; ++lane) {
    all.sum += sums[lane];
    all.count += counts[lane];
  }
  return all;
}

}  // namespace

CellTotals::CellTotals(std::size_t cells, std::size_t bins)
    : totals_(cells, kNoTotal), bin_sums_(bins), bin_cells_(bins), counts_(bins) {}

void CellTotals::take(std::size_t cell, std::span<const double> pattern) {
  const KnownSum known = sum_of_known(pattern, [](std::size_t) { return 1.0; });
  if (known.count == 0) return;
  totals_[cell] = known.sum;
  ++measured_;
  for (std::size_t bin = 0; bin < pattern.size(); ++bin) {
    const bool has = !std::isnan(pattern[bin]);
    bin_sums_[bin] += has ? pattern[bin] : 0;
    bin_cells_[bin] += has ? 1 : 0;
  }
}

bool CellTotals::need_another_reading() {
  for (std::size_t bin = 0; bin < counts_.size(); ++bin)
    counts_[bin] = bin_cells_[bin] == measured_ && measured_ > 0 ? 1 : 0;
  return bins_that_count() != bins_with_values();
}

void CellTotals::take_again(std::size_t cell, std::span<const double> pattern) {
  if (std::isnan(totals_[cell])) return;
  if (bins_that_count() > 0) {
    totals_[cell] =
        sum_of_known(pattern, [this](std::size_t bin) { return counts_[bin] != 0 ? 1.0 : 0.0; }).sum;
    return;
  }
  double of_cell = 0, of_mean = 0, mean_of_all = 0;
  for (std::size_t bin = 0; bin < pattern.size(); ++bin) {
    if (bin_cells_[bin] == 0) continue;
    const double mean = bin_sums_[bin] / static_cast<double>(bin_cells_[bin]);
    mean_of_all += mean;
    if (std::isnan(pattern[bin])) continue;
    of_cell += pattern[bin];
    of_mean += mean;
  }
  totals_[cell] = of_mean > 0 ? of_cell / of_mean * mean_of_all : kNoTotal;
}

std::size_t CellTotals::bins_with_values() const {
  return counts_.size() - static_cast<std::size_t>(std::ranges::count(bin_cells_, 0U));
}

std::size_t CellTotals::bins_that_count() const {
  return static_cast<std::size_t>(std::ranges::count(counts_, 1));
}

}  // namespace annulus
