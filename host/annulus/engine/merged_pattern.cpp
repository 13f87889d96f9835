#include <annulus/core/error.hpp>
#include <annulus/engine/merged_pattern.hpp>
#include <annulus/plan/spread_table.hpp>
#include <annulus/plan/wide_sum.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace annulus {
namespace {

// Fraction bits differ by as much as the exponents of doubles do, and frames have up to kMostWords words.
constexpr std::size_t kSumWords = kMostWords + 1200 / 64 + 1;
using LongSum = WideSum<kSumWords>;
using Whole = LongSum::Wide;  // 128 bits

// What add_whole() may shift by.
constexpr int kMostShift = (static_cast<int>(kSumWords) - 3) * LongSum::kWordBits;

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

[[noreturn]] void refuse_size(std::uint64_t frames) {
  throw Error(ErrorKind::kInput, "merge",
              fmt::format("the exact sums of {} frames need more than {} bits", frames,
                          kMostWords * LongSum::kWordBits),
              "merge fewer frames, or frames whose values differ less in size");
}

// The largest whole number that is not above value / divisor; divisor is positive and below 2^63.
LongSum divided(const LongSum& value, Whole divisor) {
  std::array<std::int64_t, kSumWords> words{};
  value.signed_words(kSumWords, words.data(), 1);
  LongSum quotient;
  Whole rest = 0;
  for (std::size_t word = kSumWords; word-- > 0;) {
    const Whole part = rest * (Whole{1} << LongSum::kWordBits) + words[word];
    Whole share = part / divisor;
    rest = part - share * divisor;
    if (rest < 0) {
      --share;
      rest += divisor;
    }
    if (share != 0) add_whole(quotient, share, static_cast<int>(word) * LongSum::kWordBits);
  }
  return quotient;
}

// The nearest, halves upwards: half of the divisor is added before.
LongSum rounded(LongSum value, Whole divisor) {
  add_whole(value, divisor / 2, 0);
  return divided(value, divisor);
}
LongSum rounded_by_square(LongSum value, Whole divisor) {
  add_whole(value, divisor * divisor / 2, 0);
  return divided(divided(value, divisor), divisor);
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

// What recipes with a spread table add. With w the weight of a frame by its factor, A = sum of its squares, B
// of its products and Q of q n n: sums of A, w B and w w Q.
class MergedPattern::SpreadSums {
 public:
  SpreadSums(const Job& job, int fraction_bits) : job_(job), fraction_bits_(fraction_bits) {
    const std::size_t bins = job.plan->bins();
    for (const Quantity quantity : job.quantities()) {
      if (quantity == Quantity::kSquares) squares_.resize(bins);
      if (quantity == Quantity::kProducts) products_.resize(bins);
      if (quantity == Quantity::kMissingSquares) divisors_.resize(bins);
      if (quantity == Quantity::kClipped) clipped_.resize(bins);
      if (quantity == Quantity::kEmptied) emptied_.resize(bins);
    }
  }

  static std::size_t bytes_of_bin(const Recipe& recipe) {
    return recipe.needs_spread_table() ? 3 * sizeof(LongSum) : 0;
  }

  void add(const Sums& frame, Whole weight) {
    const int finer = fraction_bits_ - frame.fraction_bits;
    add_words(squares_, frame, Quantity::kSquares, 1, 2 * finer);
    add_words(products_, frame, Quantity::kProducts, weight, finer);
    add_divisors(frame, weight);
    const auto clipped = frame[Quantity::kClipped], emptied = frame[Quantity::kEmptied];
    for (std::size_t bin = 0; bin < clipped.size(); ++bin) clipped_[bin] += clipped[bin];
    for (std::size_t bin = 0; bin < emptied.size(); ++bin) emptied_[bin] |= emptied[bin];
  }

  // With sums of squares in `squares`, and likewise: of frames whose weights have this sum.
  void finish(Whole weights, std::vector<LongSum>& squares, std::vector<LongSum>& products,
              std::vector<LongSum>& missing) const {
    squares = squares_;
    products = products_;
    for (LongSum& product : products) product = rounded(product, weights);
    missing = divisors_;
    for (std::size_t bin = 0; bin < missing.size(); ++bin) {
      std::array<std::int64_t, kDivisorWords> words{};
      rounded_by_square(divisors_[bin], weights).signed_words(kDivisorWords, words.data(), 1);
      missing[bin] = {};
      add_totals(missing[bin], bin, 1, 0);
      for (std::size_t word = 0; word < kDivisorWords; ++word)
        add_whole(missing[bin], -Whole{words[word]}, static_cast<int>(word) * LongSum::kWordBits);
    }
  }

  void store_clip(Sums& sums) const {
    const auto store = [&sums](Quantity quantity, const auto& values) {
      if (values.empty()) return;
      std::ranges::transform(values, sums.make(quantity, values.size()).begin(),
                             [](auto value) { return static_cast<std::int64_t>(value); });
    };
    store(Quantity::kClipped, clipped_);
    store(Quantity::kEmptied, emptied_);
  }

 private:
  static constexpr std::size_t kDivisorWords = 4;

  void add_words(std::vector<LongSum>& sums, const Sums& frame, Quantity quantity, Whole weight,
                 int shift) const {
    if (sums.empty()) return;
    for (std::size_t word = 0; word < frame.words(quantity); ++word) {
      const int place = shift + static_cast<int>(word) * LongSum::kWordBits;
      const auto values = frame.word(quantity, word);
      for (std::size_t bin = 0; bin < values.size(); ++bin) {
        if (values[bin] == 0) continue;
        if (place > kMostShift) refuse_size(2);
        add_whole(sums[bin], values[bin] * weight, place);
      }
    }
  }

  // Weights are squared in two parts: a product of all three would need more than 128 bits.
  void add_divisors(const Sums& frame, Whole weight) {
    const Whole square = weight * weight, upper = square >> kWeightBits;
    const Whole lower = square - (upper << kWeightBits);
    for (std::size_t bin = 0; bin < divisors_.size(); ++bin) {
      add_totals(divisors_[bin], bin, lower, upper);
      for (std::size_t word = 0; word < frame.words(Quantity::kMissingSquares); ++word) {
        const auto missing = frame.word(Quantity::kMissingSquares, word);
        if (missing.empty() || missing[bin] == 0) continue;
        add_both(divisors_[bin], -Whole{missing[bin]}, lower, upper,
                 static_cast<int>(word) * LongSum::kWordBits);
      }
    }
  }

  void add_totals(LongSum& sum, std::size_t bin, Whole lower, Whole upper) const {
    const SpreadTable& table = *job_.plan->spread;
    add_both(sum, table.squares[bin], lower, upper, 0);
    add_both(sum, table.squares_word1[bin], lower, upper, LongSum::kWordBits);
  }

  static void add_both(LongSum& sum, Whole value, Whole lower, Whole upper, int shift) {
    if (value == 0) return;
    add_whole(sum, value * lower, shift);
    add_whole(sum, value * upper, shift + kWeightBits);
  }

  const Job& job_;
  const int fraction_bits_;
  std::vector<LongSum> squares_, products_, divisors_;
  std::vector<Whole> clipped_;
  std::vector<std::int64_t> emptied_;
};

struct MergedPattern::Accumulators {
  Accumulators(const Job& job, const Plan& plan, const Recipe& recipe, bool narrow, int fraction_bits)
      : spread(job, fraction_bits),
        signal(plan.bins(), narrow),
        missing_dark(plan.totals.dark.empty() ? 0 : plan.bins()),
        missing_normalization(plan.bins()) {
    if (recipe.has_variance()) variance.emplace(plan.bins(), narrow);
  }

  SpreadSums spread;
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
  const std::size_t bytes =
      bins * (2 * (narrow ? sizeof(Whole) : sizeof(LongSum)) + SpreadSums::bytes_of_bin(job.recipe));
  if (bytes > kMostBytes) {
    throw Error(ErrorKind::kInput, "merge",
                fmt::format("exact sums of {} bins take {} MiB", bins, bytes >> 20),
                "make cakes of fewer bins");
  }
  sums_ = std::make_unique<Accumulators>(job_, *job_.plan, job_.recipe, narrow, fraction_bits());
}

// The dark goes into the signal, in units that hold both.
int MergedPattern::fraction_bits() const {
  const bool has_dark = !job_.plan->totals.dark.empty();
  return has_dark ? std::max(all_.finest, job_.plan->dark_bits) : all_.finest;
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
  sums_->spread.add(frame.sums, weight);
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

// Of all bins.
std::size_t words_needed(const std::vector<LongSum>& sums) {
  std::size_t needed = 1;
  for (const LongSum& sum : sums) needed = std::max(needed, words_needed(sum));
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
  const int fraction_bits = this->fraction_bits();
  std::vector<LongSum> signal(bins), variance(sums_->variance ? bins : 0), squares, products, missing_squares;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    signal[bin] = sums_->signal.at(bin, fraction_bits - all_.finest);
    if (has_dark) {
      const Whole dark =
          Whole{plan.totals.dark[bin]} * static_cast<std::int64_t>(frames_) - sums_->missing_dark[bin];
      add_whole(signal[bin], -dark, fraction_bits - plan.dark_bits);
    }
    if (!variance.empty()) variance[bin] = sums_->variance->at(bin, fraction_bits - all_.finest);
  }
  sums_->spread.finish(sums_->weights, squares, products, missing_squares);
  const std::pair<Quantity, const std::vector<LongSum>&> numbers[] = {
      {Quantity::kSignal, signal},
      {Quantity::kVariance, variance},
      {Quantity::kSquares, squares},
      {Quantity::kProducts, products},
      {Quantity::kMissingSquares, missing_squares}};
  const auto fits = [&](PixelType type) {
    return std::ranges::all_of(
        numbers, [&](const auto& sums) { return words_needed(sums.second) <= most_words(type, sums.first); });
  };
  Result result;
  const auto merged_plan = std::make_shared<Plan>(plan);
  for (const PixelType type : {plan.pixel_type, PixelType::kI64, PixelType::kF64}) {
    merged_plan->pixel_type = type;
    if (fits(type)) break;
  }
  if (!fits(merged_plan->pixel_type)) refuse_size(frames_);
  result.job = {merged_plan, job_.recipe};
  ReducedFrame& frame = result.frame;
  frame.sums.fraction_bits = fraction_bits;
  for (const auto& [quantity, values] : numbers) {
    if (!values.empty()) store(frame.sums, quantity, values, words_needed(values));
  }
  sums_->spread.store_clip(frame.sums);
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
  frame.pattern = normalise(*merged_plan, job_.recipe, frame.sums, frame.normalization);
  return result;
}

}  // namespace annulus
