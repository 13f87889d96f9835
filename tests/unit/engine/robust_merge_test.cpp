// Frames and bins as one, with errors by the spread of pixels: against the pixels themselves.

#include <annulus/engine/merged_pattern.hpp>
#include <annulus/plan/merge.hpp>
#include <annulus/plan/spread_table.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

namespace annulus {
namespace {

constexpr std::size_t kBins = 2;
constexpr std::size_t kPixels = 5;  // of a bin, each whole
constexpr int kDivisors = 20;
constexpr std::int64_t kDivisor[kPixels] = {1 << 20, 1290001, 810203, 1 << 20, 600007};
const Recipe kRecipe{ErrorModel::kAzimuthal};

using Counts = std::array<std::array<std::int64_t, kPixels>, kBins>;

struct Image {
  Counts counts;
  double factor;
  int fraction_bits;
};
const std::vector<Image> kImages = {{{{{40, 52, 31, 35, 22}, {400, 510, 333, 380, 260}}}, 1, 0},
                                    {{{{90, 100, 70, 81, 50}, {700, 990, 601, 820, 409}}}, 2, 0},
                                    {{{{161, 190, 140, 155, 99}, {-7, 3, 12, -20, 41}}}, 0.75, 2}};

std::shared_ptr<const Plan> make_plan() {
  auto plan = std::make_shared<Plan>();
  Axis& axis = plan->axes.emplace_back(Axis{AxisKind::kRadial, "q", "1/nm"});
  axis.centres = {1, 2};
  axis.edges = {0.5, 1.5, 2.5};
  plan->normalization_bits = kDivisors;
  auto table = std::make_shared<SpreadTable>();
  table->divisor_bits = kDivisors;
  std::int64_t norm = 0, squares = 0;
  for (const std::int64_t n : kDivisor) {
    norm += n;
    squares += n * n;
  }
  plan->totals.count.assign(kBins, kPixels);
  plan->totals.normalization.assign(kBins, norm);
  table->squares.assign(kBins, squares);
  table->squares_word1.assign(kBins, 0);
  plan->spread = table;
  return plan;
}

Sums sums_of(const Image& image) {
  Sums sums;
  sums.fraction_bits = image.fraction_bits;
  const auto signal = sums.make(Quantity::kSignal, kBins);
  const auto squares = sums.make(Quantity::kSquares, kBins), products = sums.make(Quantity::kProducts, kBins);
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    for (std::size_t i = 0; i < kPixels; ++i) {
      const std::int64_t s = image.counts[bin][i];
      signal[bin] += s;
      squares[bin] += s * s;
      products[bin] += s * kDivisor[i];
    }
  }
  return sums;
}

struct Expected {
  double mean = 0, norm = 0, spread = 0, squares = 0;
  double error() const { return std::sqrt(spread) / norm; }
  double deviation() const { return std::sqrt(spread / squares); }
};

// sum of omega^2 (x - mean)^2, with x = s / (n f) and omega = n f.
Expected expected_of(const std::vector<Image>& images, std::size_t bin) {
  Expected expected;
  double signal = 0;
  const auto visit = [&](const auto& take) {
    for (const Image& image : images) {
      for (std::size_t i = 0; i < kPixels; ++i) {
        take(std::ldexp(static_cast<double>(image.counts[bin][i]), -image.fraction_bits),
             std::ldexp(static_cast<double>(kDivisor[i]), -kDivisors) * image.factor);
      }
    }
  };
  visit([&](double s, double omega) {
    signal += s;
    expected.norm += omega;
    expected.squares += omega * omega;
  });
  expected.mean = signal / expected.norm;
  visit([&](double s, double omega) { expected.spread += std::pow(s - expected.mean * omega, 2); });
  return expected;
}

MergedBins merged(const std::vector<Image>& images, BinRange bins) {
  const auto plan = make_plan();
  std::vector<Sums> sums;
  for (const Image& image : images) sums.push_back(sums_of(image));
  std::vector<FrameAndFactor> frames;
  for (std::size_t i = 0; i < images.size(); ++i) frames.push_back({&sums[i], images[i].factor});
  return merge(*plan, kRecipe, frames, bins);
}

TEST(MergeBySpread, ABinOfAFrameIsThatOfTheFrame) {
  for (const Image& image : kImages) {
    const Pattern pattern = normalise(*make_plan(), kRecipe, sums_of(image), image.factor);
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      EXPECT_EQ(merged({image}, {bin, bin + 1}).intensity, pattern.intensity[bin]);
      EXPECT_EQ(merged({image}, {bin, bin + 1}).error, pattern.error[bin]);
    }
  }
}

TEST(MergeBySpread, FramesSpreadAboutTheirCommonMean) {
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const Expected expected = expected_of(kImages, bin);
    EXPECT_NEAR(merged(kImages, {bin, bin + 1}).error, expected.error(), 1e-12 * expected.error());
  }
}

TEST(MergeBySpread, BinsAreAddedInQuadrature) {
  const Expected one = expected_of(kImages, 0), other = expected_of(kImages, 1);
  const double error = std::sqrt(one.spread + other.spread) / (one.norm + other.norm);
  EXPECT_NEAR(merged(kImages, {0, 2}).error, error, 1e-12 * error);
  const Plan part = part_of(*make_plan(), {1, 2});
  ASSERT_TRUE(part.spread);
  EXPECT_EQ(part.spread->squares.size(), 1u);
}

MergedPattern::Result mean_of(const std::vector<Image>& images) {
  FramesToMerge all{images.size(), 0, false, 0};
  for (const Image& image : images) {
    all.finest = std::max(all.finest, image.fraction_bits);
    all.largest_factor = std::max(all.largest_factor, image.factor);
  }
  MergedPattern pattern({make_plan(), kRecipe}, 0, all);
  for (const Image& image : images) {
    ReducedFrame frame;
    frame.normalization = image.factor;
    frame.sums = sums_of(image);
    pattern.add(frame);
  }
  return pattern.finish(MergedValue::kMean);
}

// Sums are rounded to a unit of theirs.
TEST(MeanBySpread, IsThatOfAllPixels) {
  const auto many = [](std::int64_t factor) {
    std::vector<Image> images = kImages;
    for (Image& image : images) image.factor = factor == 0 ? image.factor : static_cast<double>(factor);
    return images;
  };
  for (const std::int64_t factor : {0, 1, 3}) {
    const std::vector<Image> images = many(factor);
    const Pattern pattern = mean_of(images).frame.pattern;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      const Expected expected = expected_of(images, bin);
      EXPECT_NEAR(pattern.intensity[bin], expected.mean, 1e-9 * std::abs(expected.mean));
      EXPECT_NEAR(pattern.error[bin], expected.error(), 1e-6 * expected.error()) << "bin " << bin;
      EXPECT_NEAR(pattern.deviation[bin], expected.deviation(), 1e-6 * expected.deviation()) << "bin " << bin;
    }
  }
}

TEST(MeanBySpread, OfOneFrameIsTheFrame) {
  for (const Image& image : kImages) {
    const MergedPattern::Result mean = mean_of({image});
    const Sums sums = sums_of(image);
    EXPECT_EQ(mean.frame.sums.number(Quantity::kProducts, 1), sums.number(Quantity::kProducts, 1));
    EXPECT_EQ(mean.frame.sums.number(Quantity::kSquares, 1), sums.number(Quantity::kSquares, 1));
    EXPECT_EQ(mean.frame.sums.number(Quantity::kMissingSquares, 1), 0);
    const Pattern pattern = normalise(*make_plan(), kRecipe, sums, image.factor);
    EXPECT_EQ(mean.frame.pattern.error[1], pattern.error[1]);
  }
}

}  // namespace
}  // namespace annulus
