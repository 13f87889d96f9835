#include <annulus/core/error.hpp>
#include <annulus/engine/merged_pattern.hpp>
#include <annulus/plan/wide_sum.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace annulus {
namespace {

// Fraction bits differ by as much as the exponents of doubles do, and frames have up to kMostWords words.
constexpr std::size_t kSumWords = kMostWords + 1200 / 64 + 1;
using LongSum = WideSum<kSumWords>;
using Whole = LongSum::Wide;  // 128 bits

constexpr std::size_t kMostBytes = std::size_t{4} << 30;

// Weights of frames as integers, of which the largest has so many bits: products with N and their sum over
// 2^24 frames fit 128 bits.
constexpr int kWeightBits = 38;

// A number of 128 bits x 2^shift.
void add_whole(LongSum& sum, Whole value, int shift) {
  const auto low = static_cast<std::uint64_t>(value);
  // As signed words: the lower one may be negative, and the upper one makes up for it.
  const auto word = static_cast<std::int64_t>(low);
  sum.add(word, shift);
  sum.add(static_cast<std::int64_t>((value - word) >> LongSum::kWordBits), shift + LongSum::kWordBits);
}

Whole rounded_quotient(Whole value, Whole divisor) {
  const Whole half = divisor / 2;
  return value >= 0 ? (value + half) / divisor : -((-value + half) / divisor);
}

}  // namespace

// The sums of one quantity of all bins.
class MergedPattern::BinSums {
 public:
  BinSums(std::size_t bins, bool narrow) {
    if (narrow) {
      narrow_.resize(bins);
    } else {
      wide_.resize(bins);
    }
  }

  void add(const Sums& frame, Quantity quantity, int finest) {
    if (!narrow_.empty()) {
      const auto values = frame[quantity];
      for (std::size_t bin = 0; bin < narrow_.size(); ++bin) narrow_[bin] += values[bin];
      return;
    }
    for (std::size_t word = 0; word < frame.words(quantity); ++word) {
      const int shift = finest - frame.fraction_bits + static_cast<int>(word) * LongSum::kWordBits;
      const auto values = frame.word(quantity, word);
      for (std::size_t bin = 0; bin < wide_.size(); ++bin) wide_[bin].add(values[bin], shift);
    }
  }

  // x 2^shift
  LongSum at(std::size_t bin, int shift) const {
    if (narrow_.empty()) {
      if (shift == 0) return wide_[bin];
      return shifted(wide_[bin], shift);
    }
    LongSum sum;
    add_whole(sum, narrow_[bin], shift);
    return sum;
  }

 private:
  static LongSum shifted(const LongSum& sum, int shift) {
    std::array<std::int64_t, kSumWords> words{};
    sum.signed_words(kSumWords, words.data(), 1);
    LongSum result;
    for (std::size_t word = 0; word < kSumWords; ++word) {
      if (words[word] != 0) result.add(words[word], shift + static_cast<int>(word) * LongSum::kWordBits);
    }
    return result;
  }

  std::vector<Whole> narrow_;
  std::vector<LongSum> wide_;
};

struct MergedPattern::Accumulators {
  Accumulators(const Plan& plan, const Recipe& recipe, bool narrow)
      : signal(plan.bins(), narrow),
        missing_dark(plan.totals.dark.empty() ? 0 : plan.bins()),
        missing_normalization(plan.bins()) {
    if (recipe.has_variance()) variance.emplace(plan.bins(), narrow);
  }

  BinSums signal;
  std::optional<BinSums> variance;
  std::vector<Whole> missing_dark;
  std::vector<Whole> missing_normalization;  // weighted
  Whole weights = 0;
};

MergedPattern::MergedPattern(const Job& job, std::size_t columns, const FramesToMerge& all)
    : job_(job), all_(all), column_sums_(columns), column_counts_(columns) {
  const std::size_t bins = job.plan->bins();
  const bool narrow = all.alike && most_words(job.plan->pixel_type) == 1;
  const std::size_t bytes = 2 * bins * (narrow ? sizeof(Whole) : sizeof(LongSum));
  if (bytes > kMostBytes) {
    throw Error(ErrorKind::kInput, "merge",
                fmt::format("exact sums of {} bins take {} MiB", bins, bytes >> 20),
                "make cakes of fewer bins");
  }
  sums_ = std::make_unique<Accumulators>(*job.plan, job.recipe, narrow);
}

MergedPattern::~MergedPattern() = default;

void MergedPattern::add(const ReducedFrame& frame) {
  const double factor = frame.normalization;
  if (!(factor > 0) || !std::isfinite(factor)) {
    throw Error(ErrorKind::kInput, describe(frame.id),
                fmt::format("its normalization factor is {}, which cannot divide", factor),
                "reduce it again");
  }
  ++frames_;
  factor_ += factor;
  sums_->signal.add(frame.sums, Quantity::kSignal, all_.finest);
  if (sums_->variance) sums_->variance->add(frame.sums, Quantity::kVariance, all_.finest);
  for (std::size_t i = 0; i < column_sums_.size(); ++i) {
    if (std::isnan(frame.point[i])) continue;
    column_sums_[i] += frame.point[i];
    ++column_counts_[i];
  }
  const Whole weight =
      std::max<std::int64_t>(std::llround(std::ldexp(factor / all_.largest_factor, kWeightBits)), 1);
  sums_->weights += weight;
  const auto missing = frame.sums[Quantity::kMissingNormalization];
  for (std::size_t bin = 0; bin < missing.size(); ++bin)
    sums_->missing_normalization[bin] += weight * missing[bin];
  const auto dark = frame.sums[Quantity::kMissingDark];
  for (std::size_t bin = 0; bin < dark.size(); ++bin) sums_->missing_dark[bin] += dark[bin];
}

namespace {

// Words that a number takes; more than kMostWords if there are not enough.
std::size_t words_needed(const LongSum& sum) {
  std::array<std::int64_t, kMostWords> words{};
  if (sum.signed_words(kMostWords, words.data(), 1) != 0) return kMostWords + 1;
  std::size_t needed = kMostWords;
  while (needed > 1 && words[needed - 1] == 0) --needed;
  return needed;
}

void store(Sums& sums, Quantity quantity, const std::vector<LongSum>& numbers, std::size_t words) {
  const auto values = sums.make(quantity, numbers.size(), words);
  for (std::size_t bin = 0; bin < numbers.size(); ++bin)
    numbers[bin].signed_words(words, values.data() + bin, numbers.size());
}

}  // namespace

MergedPattern::Result MergedPattern::finish(MergedValue value) const {
  const Plan& plan = *job_.plan;
  const std::size_t bins = plan.bins();
  const bool has_dark = !plan.totals.dark.empty();
  // The dark goes into the signal, in units that hold both.
  const int fraction_bits = has_dark ? std::max(all_.finest, plan.dark_bits) : all_.finest;
  std::vector<LongSum> signal(bins), variance(sums_->variance ? bins : 0);
  std::size_t words = 1;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    signal[bin] = sums_->signal.at(bin, fraction_bits - all_.finest);
    if (has_dark) {
      const Whole dark =
          Whole{plan.totals.dark[bin]} * static_cast<std::int64_t>(frames_) - sums_->missing_dark[bin];
      add_whole(signal[bin], -dark, fraction_bits - plan.dark_bits);
    }
    words = std::max(words, words_needed(signal[bin]));
    if (variance.empty()) continue;
    variance[bin] = sums_->variance->at(bin, fraction_bits - all_.finest);
    words = std::max(words, words_needed(variance[bin]));
  }
  Result result;
  const auto merged_plan = std::make_shared<Plan>(plan);
  for (const PixelType type : {plan.pixel_type, PixelType::kI64, PixelType::kF64}) {
    merged_plan->pixel_type = type;
    if (most_words(type) >= words) break;
  }
  if (most_words(merged_plan->pixel_type) < words) {
    throw Error(ErrorKind::kInput, "merge",
                fmt::format("the exact sums of {} frames need more than {} bits", frames_,
                            kMostWords * LongSum::kWordBits),
                "merge fewer frames, or frames whose values differ less in size");
  }
  result.job = {merged_plan, job_.recipe};
  ReducedFrame& frame = result.frame;
  frame.sums.fraction_bits = fraction_bits;
  store(frame.sums, Quantity::kSignal, signal, words);
  if (!variance.empty()) store(frame.sums, Quantity::kVariance, variance, words);
  // Which pixels were invalid differs from frame to frame: what they take is a mean, and no number of pixels.
  const auto missing = frame.sums.make(Quantity::kMissingNormalization, bins);
  for (std::size_t bin = 0; bin < bins; ++bin)
    missing[bin] =
        static_cast<std::int64_t>(rounded_quotient(sums_->missing_normalization[bin], sums_->weights));
  frame.sums.make(Quantity::kMissingCount, bins);
  if (has_dark) std::ranges::copy(plan.totals.dark, frame.sums.make(Quantity::kMissingDark, bins).begin());
  frame.normalization = value == MergedValue::kMean ? factor_ : factor_ / static_cast<double>(frames_);
  for (std::size_t i = 0; i < column_sums_.size(); ++i) {
    frame.point.push_back(column_counts_[i] == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                 : column_sums_[i] / static_cast<double>(column_counts_[i]));
  }
  frame.pattern = normalise(*merged_plan, frame.sums, frame.normalization);
  return result;
}

}  // namespace annulus
