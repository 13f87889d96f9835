#include <annulus/plan/bin_values.hpp>
#include <annulus/plan/sigma_clip.hpp>
#include <annulus/plan/spread_table.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace annulus {
namespace {

constexpr int kWindowBits = 30;
constexpr std::int32_t kMostWindow = 1 << kWindowBits;

// How far a pixel may be off before chance no longer explains it: of more pixels, the worst is further off.
// In long double, since logarithms of doubles differ in their last bit between processors.
double allowed_deviations(double threshold, double count) {
  const long double pixels = std::max(3.0, count);
  const long double chance = std::sqrt(2 * std::log(pixels / std::sqrt(2 * std::numbers::pi_v<long double>)));
  return std::max(threshold, static_cast<double>(chance));
}

std::int32_t bounded(double value) {
  return static_cast<std::int32_t>(std::clamp(value, -double{kMostWindow}, double{kMostWindow}));
}

}  // namespace

SigmaClip::SigmaClip(const Job& job, int fraction_bits)
    : job_(job),
      scale_(std::ldexp(1.0, fraction_bits + job.plan->spread->dark_shift - job.plan->spread->divisor_bits)),
      bins_(job.plan->bins()),
      windows_(job.plan->bins()) {}

// As fine as the larger end allows; ends are rounded inwards, so no later window holds what an earlier one
// did not.
ClipWindow SigmaClip::make_window(Interval& interval, double mean, double deviation, double count) const {
  const double reach = allowed_deviations(job_.recipe.clip.threshold, count) * deviation;
  const double low = std::max(interval.low, (mean - reach) * scale_);
  const double high = std::min(interval.high, (mean + reach) * scale_);
  int exponent = 0;
  std::frexp(std::max(std::abs(low), std::abs(high)), &exponent);
  ClipWindow window;
  window.open = 0;
  window.shift = std::clamp(kWindowBits - exponent, 0, kMaxWindowShift);
  window.low = bounded(std::ceil(std::ldexp(low, window.shift)));
  window.high = bounded(std::floor(std::ldexp(high, window.shift)));
  interval.low = std::ldexp(static_cast<double>(window.low), -window.shift);
  interval.high = std::ldexp(static_cast<double>(window.high), -window.shift);
  return window;
}

bool SigmaClip::next(const Sums& sums) {
  const BinValues values(*job_.plan, sums);
  const auto clipped = sums[Quantity::kClipped];
  const bool by_spread = job_.recipe.clips_by_spread();
  const bool last = passes_++ >= job_.recipe.clip.cycles;
  bool again = false;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    Bin& bin = bins_[i];
    if (bin.done) continue;
    if (values.is_empty(i)) {
      bin.done = true;
      if (bin.clipped < 0) continue;  // it had no pixel from the beginning
      windows_[i] = bin.before;
      emptied_.resize(bins_.size());
      emptied_[i] = 1;
      again = true;
      continue;
    }
    const std::int64_t left_out = clipped.empty() ? 0 : clipped[i];
    const bool settled = bin.clipped == left_out;
    bin.clipped = left_out;
    if (settled || last) {
      bin.done = true;
      continue;
    }
    const double norm = values.normalization(i);
    const double variance = by_spread ? values.spread(i) : values.variance(i);
    const double deviation = std::sqrt(variance / values.squares(i));
    bin.before = windows_[i];
    windows_[i] = make_window(bin.interval, values.net_signal(i) / norm, deviation, values.count(i));
    again = true;
  }
  return again;
}

void finish_clip(const Job& job, const SigmaClip& clip, Sums& sums) {
  const std::vector<Quantity> wanted = job.quantities();
  for (const Quantity quantity : all_quantities()) {
    if (std::ranges::count(wanted, quantity) == 0) sums.drop(quantity);
  }
  if (clip.emptied().empty()) return;
  for (const Quantity quantity : wanted) {
    if (is_missing(quantity) && !sums.has(quantity))
      sums.make(quantity, job.plan->bins(), most_words(PixelType::kI32, quantity));
  }
  std::ranges::copy(clip.emptied(), sums[Quantity::kEmptied].begin());
}

}  // namespace annulus
