#include <annulus/plan/bin_values.hpp>
#include <annulus/plan/merge.hpp>
#include <annulus/plan/spread_table.hpp>
#include <annulus/plan/sum_units.hpp>
#include <annulus/plan/wide_sum.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace annulus {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// Fraction bits of frames differ by as much as the exponents of doubles do, and each has its words.
constexpr std::size_t kMergedWords = kMostWords + 1200 / 64 + 1;
using MergedSum = WideSum<kMergedWords>;
using SignedWide = MergedSum::Wide;

bool is_narrow(std::span<const FrameAndFactor> frames, Quantity quantity, int unit) {
  return std::ranges::all_of(frames, [&](const FrameAndFactor& frame) {
    return frame.sums->words(quantity) == 1 && frame.sums->fraction_bits == unit;
  });
}

// x 2^-plan_bits. No frame is finer than 2^-finest.
double exact_sum(std::span<const FrameAndFactor> frames, Quantity quantity, BinRange bins, int finest,
                 int plan_bits) {
  if (is_narrow(frames, quantity, finest)) {
    SignedWide sum = 0;
    for (const FrameAndFactor& frame : frames) {
      for (const std::int64_t value : (*frame.sums)[quantity].subspan(bins.first, bins.size())) sum += value;
    }
    return PowerOfTwo(plan_bits + finest).times(static_cast<double>(sum));
  }
  MergedSum sum;
  for (const FrameAndFactor& frame : frames) {
    for (std::size_t word = 0; word < frame.sums->words(quantity); ++word) {
      const int shift = finest - frame.sums->fraction_bits + static_cast<int>(word) * MergedSum::kWordBits;
      for (const std::int64_t value : frame.sums->word(quantity, word).subspan(bins.first, bins.size()))
        sum.add(value, shift);
    }
  }
  return sum.rounded(-(plan_bits + finest));
}

// What the valid pixels of a frame add to a total of the plan, over these bins.
SignedWide valid_part(const std::vector<std::int64_t>& totals, const Sums& sums, Quantity missing,
                      BinRange bins) {
  SignedWide part = 0;
  for (std::size_t bin = bins.first; bin < bins.end; ++bin) part += totals[bin];
  if (!sums.has(missing)) return part;
  for (const std::int64_t value : sums[missing].subspan(bins.first, bins.size())) part -= value;
  return part;
}

// The spread of the pixels of all frames in one bin about their mean. With f a frame's factor over the
// largest, a pixel of it has the value s / (n f) and weighs c n f. Of one frame, just BinValues::spread().
double spread_of(const Plan& plan, std::span<const FrameAndFactor> frames, std::size_t bin) {
  const SpreadTable& table = *plan.spread;
  double largest = 0;
  for (const FrameAndFactor& frame : frames) largest = std::max(largest, std::abs(frame.factor));
  double signal = 0, norm = 0, squared = 0, product = 0, squares = 0;
  for (const FrameAndFactor& frame : frames) {
    const BinValues values(plan, *frame.sums);
    const double factor = frame.factor / largest;
    if (values.is_empty(bin)) continue;
    signal += values.net_signal(bin);
    norm += values.normalization(bin) * factor;
    const int value_bits = frame.sums->fraction_bits + table.dark_shift;
    squared +=
        PowerOfTwo(table.square_bits + 2 * value_bits).times(frame.sums->number(Quantity::kSquares, bin));
    product += PowerOfTwo(table.square_bits + value_bits + table.divisor_bits)
                   .times(frame.sums->number(Quantity::kProducts, bin)) *
               factor;
    squares += values.squares(bin) * factor * factor;
  }
  if (norm == 0) return 0;
  const double mean = signal / norm;
  return std::max(0.0, squared - 2 * mean * product + mean * mean * squares);
}

}  // namespace

MergedBins merge(const Plan& plan, std::span<const FrameAndFactor> frames, BinRange bins) {
  Recipe recipe;
  const bool has_errors = std::ranges::all_of(
      frames, [](const FrameAndFactor& frame) { return frame.sums->has(Quantity::kVariance); });
  if (has_errors) recipe.error_model = ErrorModel::kPoisson;
  return merge(plan, recipe, frames, bins);
}

MergedBins merge(const Plan& plan, const Recipe& recipe, std::span<const FrameAndFactor> frames,
                 BinRange bins) {
  int finest = std::numeric_limits<int>::min();
  for (const FrameAndFactor& frame : frames) finest = std::max(finest, frame.sums->fraction_bits);
  const SumUnits unit(plan, frames.empty() ? 0 : finest);
  SignedWide count = 0, dark = 0;
  double denominator = 0;
  for (const FrameAndFactor& frame : frames) {
    count += valid_part(plan.totals.count, *frame.sums, Quantity::kMissingCount, bins);
    const SignedWide norm =
        valid_part(plan.totals.normalization, *frame.sums, Quantity::kMissingNormalization, bins);
    denominator += static_cast<double>(norm) * unit.normalization * frame.factor;
    if (!plan.totals.dark.empty())
      dark += valid_part(plan.totals.dark, *frame.sums, Quantity::kMissingDark, bins);
  }
  MergedBins merged{kNothing, kNothing, kNothing};
  if (count == 0 || denominator == 0) return merged;
  double signal = exact_sum(frames, Quantity::kSignal, bins, finest, plan.weight_bits);
  if (!plan.totals.dark.empty()) signal -= static_cast<double>(dark) * unit.dark;
  merged.intensity = signal / denominator;
  double variance = kNothing;
  if (recipe.error_model == ErrorModel::kAzimuthal) {
    variance = 0;
    for (std::size_t bin = bins.first; bin < bins.end; ++bin) variance += spread_of(plan, frames, bin);
  } else if (recipe.has_errors()) {
    variance = exact_sum(frames, Quantity::kVariance, bins, finest, plan.variance_bits);
  }
  merged.error = std::sqrt(variance) / denominator;

  const std::vector<double>& centres = plan.axes.front().centres;
  double weights = 0, moment = 0;
  for (std::size_t bin = bins.first; bin < bins.end; ++bin) {
    double weight = 0;
    for (const FrameAndFactor& frame : frames) {
      weight += static_cast<double>(valid_part(plan.totals.normalization, *frame.sums,
                                               Quantity::kMissingNormalization, {bin, bin + 1})) *
                frame.factor;
    }
    weights += weight;
    moment += weight * (centres[bin] - centres[bins.first]);
  }
  merged.centre = centres[bins.first] + moment / weights;
  return merged;
}

Plan part_of(const Plan& plan, BinRange bins) {
  const auto cut = [&](const auto& values, std::size_t more = 0) {
    using Values = std::decay_t<decltype(values)>;
    if (values.empty()) return Values();
    return Values(values.begin() + static_cast<std::ptrdiff_t>(bins.first),
                  values.begin() + static_cast<std::ptrdiff_t>(bins.end + more));
  };
  Plan part;
  Axis radial = plan.axes.front();
  radial.centres = cut(radial.centres);
  radial.edges = cut(radial.edges, 1);
  part.axes = {std::move(radial)};
  part.pixel_type = plan.pixel_type;
  part.weight_bits = plan.weight_bits;
  part.variance_bits = plan.variance_bits;
  part.normalization_bits = plan.normalization_bits;
  part.dark_bits = plan.dark_bits;
  part.totals.count = cut(plan.totals.count);
  part.totals.normalization = cut(plan.totals.normalization);
  part.totals.dark = cut(plan.totals.dark);
  if (plan.spread) {
    const auto table = std::make_shared<SpreadTable>();
    table->divisor_bits = plan.spread->divisor_bits;
    table->square_bits = plan.spread->square_bits;
    table->dark_shift = plan.spread->dark_shift;
    table->squares = cut(plan.spread->squares);
    table->squares_word1 = cut(plan.spread->squares_word1);
    part.spread = table;
  }
  return part;
}

}  // namespace annulus
