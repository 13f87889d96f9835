// Errors by the spread, clips and their tables, by hand where that is possible.
#include <annulus/core/error.hpp>
#include <annulus/plan/rank_clip.hpp>
#include <annulus/plan/sigma_clip.hpp>
#include <annulus/plan/spread_table.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace annulus {
namespace {

using ::testing::HasSubstr;

// A bin of each whole pixel that `bins` names; all normalisations are `norm`.
std::shared_ptr<const Plan> plan_of(const std::vector<std::uint32_t>& bins, std::int32_t norm = 1 << 10) {
  auto plan = std::make_shared<Plan>();
  const auto pixels = static_cast<std::uint32_t>(bins.size());
  const std::uint32_t count = *std::ranges::max_element(bins) + 1;
  plan->shape = {1, pixels};
  Axis axis{AxisKind::kRadial, "2theta", "deg", {}, {0}};
  for (std::uint32_t bin = 0; bin < count; ++bin) {
    axis.centres.push_back(bin + 0.5);
    axis.edges.push_back(bin + 1);
  }
  plan->axes = {axis};
  plan->weight_bits = 4;
  plan->variance_bits = 0;
  plan->normalization_bits = 10;
  plan->totals.count.resize(count);
  plan->totals.normalization.resize(count);
  std::vector<std::uint32_t> first{0}, weight;
  for (const std::uint32_t bin : bins) {
    first.push_back(first.back() + 1);
    weight.push_back(16);
    plan->totals.count[bin] += 16;
    plan->totals.normalization[bin] += 16 * norm;
  }
  plan->matrix = {std::move(first), std::vector<std::uint32_t>(bins), std::move(weight)};
  plan->normalization = std::vector<std::int32_t>(pixels, norm);
  plan->validity.max_count = 1 << 20;
  return plan;
}

TEST(SpreadTable, OfWholePixelsCountsEachOnce) {
  const SpreadTable table = *make_spread_table(*plan_of({0, 0, 1}, 1 << 10));
  EXPECT_TRUE(table.is_whole());
  EXPECT_EQ(table.divisor[0], 1u << 21) << "22 bits, the highest of them set";
  EXPECT_EQ(table.divisor_bits, 10 + 11) << "so it is worth 1 as before";
  EXPECT_EQ(table.squares, (std::vector<std::int64_t>{std::int64_t{2} << 42, std::int64_t{1} << 42}));
  EXPECT_EQ(table.squares_word1, (std::vector<std::int64_t>{0, 0}));
}

TEST(SpreadTable, RefusesAPixelWithoutNormalization) {
  const auto plan = std::make_shared<Plan>(*plan_of({0, 0, 1}));
  std::vector<std::int32_t> norm = {5, 0, 5};
  plan->normalization = std::move(norm);
  try {
    make_spread_table(*plan);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kPlan);
    EXPECT_THAT(error.what(), HasSubstr("row 0, column 1"));
  }
}

// A bin that a scaled number of pixels share in halves: squares add up, as words of two.
TEST(SpreadTable, SquaresOfSharesAreRoundedAndHaveAllBits) {
  auto plan = std::make_shared<Plan>(*plan_of({0, 0, 1}));
  plan->weight_bits = 20;
  plan->matrix.first = std::vector<std::uint32_t>{0, 2, 3, 4};
  plan->matrix.bin = std::vector<std::uint32_t>{0, 1, 0, 1};
  const std::uint32_t whole = 1 << 20;
  plan->matrix.weight = std::vector<std::uint32_t>{whole - 3, 3, whole, whole};
  const SpreadTable table = *make_spread_table(*plan);
  EXPECT_EQ(table.square_bits, kMaxSquareBits);
  EXPECT_EQ(table.square(whole, 20), 1u << 30);
  EXPECT_EQ(table.square(3, 20), 1u) << "9 x 2^-40 is less than a unit, but not nothing";
  const std::int64_t near = table.square(whole - 3, 20);
  // (near + 2^30) x 2^42 and (1 + 2^30) x 2^42
  __extension__ using Wide = __int128;
  const auto number = [&](std::size_t bin) {
    return (Wide{table.squares_word1[bin]} << 64) + table.squares[bin];
  };
  EXPECT_TRUE(number(0) == (Wide{near + (1 << 30)} << 42));
  EXPECT_TRUE(number(1) == (Wide{1 + (1 << 30)} << 42));
}

TEST(DarkRemover, RoundsDarksToTheUnitOfTheFrame) {
  auto plan = std::make_shared<Plan>(*plan_of({0, 0, 1}));
  plan->dark_bits = 8;
  plan->dark = std::vector<std::int32_t>{256 * 3, 256 + 3, -256 - 6};  // 3, 1.01, -1.02
  plan->totals.dark = {0, 0};
  plan->spread = make_spread_table(*plan);
  EXPECT_EQ(plan->spread->dark_shift, kDarkFractionBits);
  const DarkRemover counts(*plan, 0);
  EXPECT_EQ(counts.value(0, 10), (10 - 3) * 64);
  EXPECT_EQ(counts.dark(1), 65) << "64.75";
  EXPECT_EQ(counts.dark(2), -65) << "-65.5, halves go up";
  const DarkRemover finer(*plan, 4);
  EXPECT_EQ(finer.dark(1), (256 + 3) * 4) << "1024ths, exact";
}

TEST(DarkRemover, HoldsNumbersThatNoFrameHas) {
  auto plan = std::make_shared<Plan>(*plan_of({0, 0, 1}));
  plan->dark_bits = -20;
  plan->dark = std::vector<std::int32_t>{1 << 30, -(1 << 30), 0};
  plan->totals.dark = {0, 0};
  plan->spread = make_spread_table(*plan);
  const DarkRemover darks(*plan, 30);
  const std::int64_t most = std::int64_t{1} << kValueBits;
  EXPECT_LE(std::abs(darks.value(0, -(std::int64_t{1} << 32))), most);
  EXPECT_LE(std::abs(darks.value(1, std::int64_t{1} << 32)), most);
}

// What sums an operator would make of these values, in the bins that plan_of() has.
Sums sums_of(const Job& job, const std::vector<std::int64_t>& values, const std::vector<std::uint8_t>& kept) {
  const Plan& plan = *job.plan;
  Sums sums;
  for (const Quantity quantity : job.quantities_of_passes())
    sums.make(quantity, plan.bins(), std::min<std::size_t>(2, most_words(PixelType::kI32, quantity)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bin = plan.matrix.bin[i];
    const std::int64_t divisor = plan.spread->divisor[i];
    if (kept[i] == 0) {
      sums[Quantity::kMissingCount][bin] += 16;
      sums[Quantity::kMissingNormalization][bin] += 16 * plan.normalization[i];
      sums[Quantity::kMissingSquares][bin] += divisor * divisor;
      ++sums[Quantity::kClipped][bin];
      continue;
    }
    sums[Quantity::kSignal][bin] += 16 * values[i];
    if (sums.has(Quantity::kVariance)) sums[Quantity::kVariance][bin] += std::max<std::int64_t>(values[i], 1);
    if (!sums.has(Quantity::kSquares)) continue;
    sums[Quantity::kSquares][bin] += values[i] * values[i];
    sums[Quantity::kProducts][bin] += values[i] * divisor;
  }
  return sums;
}

std::vector<std::uint8_t> inside(const Plan& plan, const std::vector<std::int64_t>& values,
                                 const std::vector<ClipWindow>& windows) {
  std::vector<std::uint8_t> kept;
  for (std::size_t i = 0; i < values.size(); ++i)
    kept.push_back(windows[plan.matrix.bin[i]].holds(values[i], plan.spread->divisor[i]) ? 1 : 0);
  return kept;
}

Recipe clip_by(ErrorModel model, double threshold, unsigned cycles = 5) {
  Recipe recipe;
  recipe.error_model = model;
  recipe.clip.method = ClipMethod::kSigma;
  recipe.clip.threshold = threshold;
  recipe.clip.cycles = cycles;
  return recipe;
}

TEST(Normalise, ErrorsByTheSpreadAreThoseOfTheTextbook) {
  const std::vector<std::int64_t> values = {3, 5, 10, 2, 100, 7, 7};
  const Job job = make_job(plan_of({0, 0, 0, 0, 0, 1, 1}), {ErrorModel::kAzimuthal});
  const Sums sums = sums_of(job, values, std::vector<std::uint8_t>(7, 1));
  const Pattern pattern = normalise(*job.plan, job.recipe, sums, 2);
  double squares = 0;
  for (std::size_t i = 0; i < 5; ++i) squares += std::pow(static_cast<double>(values[i]) - 24, 2);
  EXPECT_DOUBLE_EQ(pattern.intensity[0], 12);
  EXPECT_NEAR(pattern.deviation[0], std::sqrt(squares / 5) / 2, 1e-12);
  EXPECT_NEAR(pattern.error[0], std::sqrt(squares) / 5 / 2, 1e-12);
  EXPECT_EQ(pattern.error[1], 0) << "equal values do not differ";
}

TEST(Normalise, SpottinessIsZeroWherePixelsDifferAsCountsDo) {
  std::mt19937_64 random(3);
  std::poisson_distribution<std::int64_t> counts(40);
  std::vector<std::int64_t> values(4000);
  for (std::int64_t& value : values) value = counts(random);
  std::vector<std::uint32_t> bins(4000);
  std::fill(bins.begin() + 3000, bins.end(), 1);
  for (std::size_t i = 3000; i < 4000; i += 50) values[i] += 400;  // spots
  Recipe recipe;
  recipe.spottiness = true;
  const Job job = make_job(plan_of(bins), recipe);
  const Pattern pattern =
      normalise(*job.plan, recipe, sums_of(job, values, std::vector<std::uint8_t>(4000, 1)));
  EXPECT_NEAR(pattern.spottiness[0], 0, 0.1);
  // 2 % of the pixels are 400 off: 0.02 x 0.98 x 400^2 over the mean, 48.
  EXPECT_NEAR(pattern.spottiness[1], 0.02 * 0.98 * 160000 / 48, 3);
  EXPECT_TRUE(pattern.error.empty());
}

TEST(SigmaClip, FindsTheOutliersThatStandardDeviationsTell) {
  std::vector<std::int64_t> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 100 + static_cast<std::int64_t>(i % 7) - 3;
  values[17] = 100000;
  values[200] = 150;
  const Job job = make_job(plan_of(std::vector<std::uint32_t>(300, 0)), clip_by(ErrorModel::kAzimuthal, 3));
  SigmaClip clip(job, 0);
  std::vector<std::uint8_t> kept(300, 1);
  std::vector<int> left;
  while (clip.next(sums_of(job, values, kept))) {
    kept = inside(*job.plan, values, clip.windows());
    left.push_back(static_cast<int>(std::ranges::count(kept, 1)));
  }
  EXPECT_EQ(left, (std::vector<int>{299, 298, 298})) << "one, then the other, then no more";
  EXPECT_EQ(kept[17] + kept[200], 0);
  EXPECT_TRUE(clip.emptied().empty());
}

TEST(SigmaClip, EndsAfterItsCycles) {
  std::vector<std::int64_t> values(300, 100);
  for (std::size_t i = 0; i < 150; ++i) values[i] += static_cast<std::int64_t>(i * i * i);
  const Job job =
      make_job(plan_of(std::vector<std::uint32_t>(300, 0)), clip_by(ErrorModel::kAzimuthal, 1, 2));
  SigmaClip clip(job, 0);
  std::vector<std::uint8_t> kept(300, 1);
  int passes = 1;
  for (; clip.next(sums_of(job, values, kept)); ++passes) kept = inside(*job.plan, values, clip.windows());
  EXPECT_EQ(passes, 3);
}

// Counting statistics of two far groups leave nothing about their mean.
TEST(SigmaClip, KeepsTheWindowBeforeIfNothingWouldBeLeft) {
  std::vector<std::int64_t> values(100, 10);
  std::fill(values.begin(), values.begin() + 50, 1000000);
  const Job job = make_job(plan_of(std::vector<std::uint32_t>(100, 0)), clip_by(ErrorModel::kPoisson, 1));
  SigmaClip clip(job, 0);
  std::vector<std::uint8_t> kept(100, 1);
  Sums sums = sums_of(job, values, kept);
  while (clip.next(sums)) {
    kept = inside(*job.plan, values, clip.windows());
    sums = sums_of(job, values, kept);
  }
  EXPECT_EQ(std::ranges::count(kept, 1), 100);
  EXPECT_EQ(clip.emptied(), std::vector<std::uint8_t>{1});
  finish_clip(job, clip, sums);
  EXPECT_EQ(sums[Quantity::kEmptied][0], 1);
  EXPECT_FALSE(sums.has(Quantity::kSquares)) << "no part of such results";
}

TEST(ClipWindow, HoldsWhatItsInequalitiesSay) {
  std::mt19937_64 random(4);
  __extension__ using Wide = __int128;
  int held = 0;
  for (int i = 0; i < 100000; ++i) {
    ClipWindow window;
    window.open = 0;
    window.shift = static_cast<std::int32_t>(random() % (kMaxWindowShift + 1));
    const auto limit = [&] {
      return static_cast<std::int32_t>(static_cast<std::int64_t>(random() >> (33 + random() % 31)) -
                                       (1 << 29));
    };
    window.low = limit();
    window.high = limit();
    if (window.low > window.high) std::swap(window.low, window.high);
    const auto n = static_cast<std::int64_t>(1 + random() % ((1 << kDivisorBits) - 1));
    // Near an end as often as not.
    std::int64_t s = static_cast<std::int64_t>(random() >> (24 + random() % 40));
    if (random() % 2 == 0)
      s = ((random() % 2 == 0 ? window.low : window.high) * n >> window.shift) +
          static_cast<std::int64_t>(random() % 3) - 1;
    if (random() % 4 == 0) s = -s;
    const Wide scaled = Wide{s} * (Wide{1} << window.shift);
    const bool expected = Wide{window.low} * n <= scaled && scaled <= Wide{window.high} * n;
    held += expected;
    ASSERT_EQ(window.holds(s, n), expected)
        << s << ' ' << n << ' ' << window.low << ' ' << window.high << ' ' << window.shift;
  }
  EXPECT_GT(held, 1000);
}

TEST(RankClip, FindsQuantilesByWeight) {
  std::vector<RankedPixel> pixels = {{5, 1}, {1, 2}, {9, 1}, {3, 4}};  // by value: 1 1 3 3 3 3 5 9
  const auto window = [&](ClipMethod method, std::optional<Range> quantiles) {
    Clip clip;
    clip.method = method;
    clip.quantiles = quantiles;
    std::vector<RankedPixel> copy = pixels;
    const RankWindow found = rank_window(clip, copy);
    return std::pair(found.low, found.high);
  };
  EXPECT_EQ(window(ClipMethod::kMedian, std::nullopt), std::pair(3.0, 3.0));
  EXPECT_EQ(window(ClipMethod::kQuantiles, Range{0, 1}), std::pair(1.0, 9.0));
  EXPECT_EQ(window(ClipMethod::kQuantiles, Range{0.25, 0.75}), std::pair(1.0, 3.0));
  EXPECT_EQ(window(ClipMethod::kQuantiles, Range{0.26, 0.76}), std::pair(3.0, 5.0));
  EXPECT_EQ(window(ClipMethod::kQuantiles, Range{1, 1}), std::pair(9.0, 9.0));
}

TEST(RankClip, EqualsSortingForRandomWeightsAndManyEqualValues) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<RankedPixel> pixels(1 + random() % (round % 4 == 0 ? 5000 : 200));
    for (RankedPixel& pixel : pixels) {
      pixel = {static_cast<double>(random() % (1 + random() % (round % 3 == 0 ? 100000 : 50))) - 10,
               1 + (random() >> (19 + random() % 44))};
    }
    Clip clip;
    clip.method = ClipMethod::kQuantiles;
    clip.quantiles =
        Range{static_cast<double>(random() % 1000) / 2000, 0.5 + static_cast<double>(random() % 1001) / 2000};
    std::vector<RankedPixel> sorted = pixels;
    std::ranges::sort(sorted, {}, &RankedPixel::value);
    long double total = 0;
    for (const RankedPixel& pixel : sorted) total += static_cast<long double>(pixel.weight);
    const auto at = [&](double part) {
      long double sum = 0;
      for (const RankedPixel& pixel : sorted) {
        sum += static_cast<long double>(pixel.weight);
        if (sum * (1 << kQuantileBits) >= static_cast<long double>(quantile_number(part)) * total)
          return pixel.value;
      }
      return sorted.back().value;
    };
    const double low = at(clip.quantiles->low), high = at(clip.quantiles->high);
    const RankWindow found = rank_window(clip, pixels);
    ASSERT_EQ(found.low, low) << round;
    ASSERT_EQ(found.high, high) << round;
  }
}

TEST(Recipe, RefusesWhatMakesNoSense) {
  const auto fault = [](const Recipe& recipe) -> std::string {
    try {
      check(recipe);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.where();
    }
    return "none";
  };
  EXPECT_EQ(fault({}), "none");
  EXPECT_EQ(fault(clip_by(ErrorModel::kAzimuthal, 5)), "none");
  EXPECT_EQ(fault(clip_by(ErrorModel::kAzimuthal, 0)), "`clip_threshold`");
  EXPECT_EQ(fault(clip_by(ErrorModel::kAzimuthal, 5, 0)), "`clip_cycles`");
  Recipe recipe;
  recipe.clip.method = ClipMethod::kQuantiles;
  EXPECT_EQ(fault(recipe), "`clip_quantiles`");
  recipe.clip.quantiles = Range{0.6, 0.4};
  EXPECT_EQ(fault(recipe), "`clip_quantiles`");
  recipe.clip.quantiles = Range{0.4, 0.6};
  EXPECT_EQ(fault(recipe), "none");
  recipe.spottiness = true;
  EXPECT_EQ(fault(recipe), "`spottiness`");
  recipe.clip = {ClipMethod::kMedian, 4};
  recipe.spottiness = false;
  EXPECT_EQ(fault(recipe), "`clip_threshold`, `clip_cycles`");
}

}  // namespace
}  // namespace annulus
