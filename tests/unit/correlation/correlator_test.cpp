#include <annulus/correlation/correlator.hpp>
#include <annulus/correlation/fast_correlator.hpp>

#include <cblas.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "correlation/direct_sums.hpp"
#include "correlation/modular_sums.hpp"
#include "message_of.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;

CorrelationSums correlate(const PolarShape& shape, const Images& images, CorrelatorOptions options = {}) {
  Correlator correlator(shape, 0, options);
  correlator.add(images);
  return correlator.sums();
}

TEST(Correlator, EqualsDirectSumsForEveryBlockAndNumberOfThreads) {
  for (const PolarShape shape :
       {PolarShape{5, 16}, PolarShape{4, 15}, PolarShape{3, 1}, PolarShape{1, 2}, PolarShape{20, 33},
        PolarShape{33, 24}, PolarShape{2, 67}, PolarShape{17, 90}}) {
    const Images images = random_images(shape, 11, 1);
    const CorrelationSums expected = direct_sums(shape, images);
    for (const std::size_t block : {0, 1, 2, 3, 7, 11, 40}) {
      for (const unsigned threads : {1, 2, 5}) {
        const CorrelationSums found = correlate(shape, images, {threads, block});
        EXPECT_EQ(found.signal, expected.signal)
            << shape.rings << " x " << shape.angles << ", block " << block;
        EXPECT_EQ(found.mask, expected.mask) << shape.rings << " x " << shape.angles << ", block " << block;
        EXPECT_EQ(found.images, 11U);
      }
    }
  }
}

TEST(Correlator, EqualsNumberTheoreticTransforms) {
  for (const PolarShape shape : {PolarShape{24, 256}, PolarShape{9, 360}, PolarShape{5, 101}}) {
    const Images images = random_images(shape, 70, 2);
    const CorrelationSums found = correlate(shape, images);
    const std::vector<std::int64_t> expected = modular_sums(shape, images);
    ASSERT_EQ(found.signal.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(found.signal[i], expected[i]) << "at " << i;
  }
}

TEST(Correlator, TakesARingTurnedByThreeStepsForAMaximumAtThree) {
  const PolarShape shape{2, 32};
  Images image = random_images(shape, 1, 3);
  for (std::size_t phi = 0; phi < 32; ++phi) image[32 + (phi + 3) % 32] = image[phi];
  const CorrelationSums sums = correlate(shape, image);
  const auto pair = std::span(sums.signal).subspan(shape.pair(0, 1) * 32, 32);
  EXPECT_EQ(std::max_element(pair.begin(), pair.end()) - pair.begin(), 3);
}

TEST(Correlator, GivesTheAnalyticCorrelationOfACosine) {
  const PolarShape shape{2, 120};
  constexpr int kScale = 10, kTurns = 6;
  constexpr double kLevel = 3, kAmplitude = 5;
  const PolarQuantizer quantizer(shape, kScale, {.subtract_mean = false, .least_mean = {}, .most_mean = {}});
  Correlator correlator(shape, kScale);
  for (int number = 0; number < 25; ++number) {
    std::vector<double> image;
    for (std::size_t i = 0; i < shape.values(); ++i) {
      const double phi = 2 * std::numbers::pi * static_cast<double>(i % 120) / 120;
      image.push_back(kLevel + kAmplitude * std::cos(kTurns * phi + 0.37 * number));
    }
    IntegerImage integers;
    ASSERT_EQ(quantizer.quantize(image, integers), std::nullopt);
    correlator.add(integers.values, integers.valid);
  }
  // Every value is rounded by at most half a unit of 2^-scale.
  const double tolerance = std::ldexp(kLevel + kAmplitude, -kScale) + std::ldexp(1.0, -2 * kScale);
  const LargeVector<double> found = correlator.sums().normalized();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double d = 2 * std::numbers::pi * static_cast<double>(i % 120) / 120;
    ASSERT_NEAR(found[i], kLevel * kLevel + kAmplitude * kAmplitude / 2 * std::cos(kTurns * d), tolerance)
        << "at " << i;
  }
}

TEST(Correlator, IsIndifferentToOrderAndBatches) {
  const PolarShape shape{6, 20};
  const Images images = random_images(shape, 30, 4);
  const Masks masks = random_masks(shape, 30, 5, 0.2);
  Correlator at_once(shape, 0);
  at_once.add(images, masks);
  std::vector<std::size_t> order(30);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(6));
  Correlator one_by_one(shape, 0, {2, 4});
  for (const std::size_t image : order) {
    one_by_one.add(std::span(images).subspan(image * shape.values(), shape.values()),
                   std::span(masks).subspan(image * shape.values(), shape.values()));
    if (image % 7 == 0) one_by_one.sums();  // a look in between
  }
  EXPECT_EQ(one_by_one.sums().signal, at_once.sums().signal);
  EXPECT_EQ(one_by_one.sums().mask, at_once.sums().mask);
}

TEST(Correlator, SumsOfPartsAddUpAndCanBeContinued) {
  const PolarShape shape{6, 20};
  const Images images = random_images(shape, 30, 7);
  const auto part = [&](std::size_t begin, std::size_t end) {
    return Images(images.begin() + static_cast<std::ptrdiff_t>(begin * shape.values()),
                  images.begin() + static_cast<std::ptrdiff_t>(end * shape.values()));
  };
  const CorrelationSums expected = direct_sums(shape, images);
  CorrelationSums merged = correlate(shape, part(19, 30));
  merged.add(correlate(shape, part(0, 19)));
  EXPECT_EQ(merged.signal, expected.signal);
  EXPECT_EQ(merged.mask, expected.mask);
  EXPECT_EQ(merged.images, 30U);
  Correlator continued(correlate(shape, part(0, 10)));
  continued.add(part(10, 30));
  EXPECT_EQ(continued.sums().signal, expected.signal);
  EXPECT_EQ(continued.sums().mask, expected.mask);
  EXPECT_EQ(continued.sums().images, 30U);
}

TEST(Correlator, EndsGroupsOfLargeValuesInTimeAndStaysExact) {
  const PolarShape shape{3, 256};
  constexpr std::int64_t kImages = 500;
  Correlator correlator(shape, 0);
  correlator.add(Images(shape.values() * kImages, 32767));
  const CorrelationSums& sums = correlator.sums();
  EXPECT_GE(correlator.groups(), 10U);
  for (const std::int64_t sum : sums.signal) ASSERT_EQ(sum, kImages * 256 * 32767 * 32767);
  // Small values need no second group.
  Correlator small(shape, 0);
  small.add(random_images(shape, kImages, 8, -100, 100));
  small.sums();
  EXPECT_EQ(small.groups(), 1U);
}

TEST(Correlator, RefusesAnImageBeforeSumsLeave64Bits) {
  const PolarShape shape{2, 8};
  CorrelationSums nearly(shape, 0);
  nearly.images = 1U << 30U;
  const std::int64_t left = 1000;
  for (std::size_t q = 0; q < 2; ++q)
    nearly.signal[shape.pair(q, q) * 8] = std::numeric_limits<std::int64_t>::max() - left;
  Correlator correlator(nearly);
  Images image(shape.values(), 0);
  image[0] = 31;  // 961
  correlator.add(image);
  image[0] = 7;  // 49
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { correlator.add(image); }),
              HasSubstr("sums of ring 0 could leave 64 bits"));
  image[0] = 6;  // 36
  correlator.add(image);
  EXPECT_EQ(correlator.sums().signal[0], std::numeric_limits<std::int64_t>::max() - left + 961 + 36);
  EXPECT_EQ(correlator.sums().images, nearly.images + 2);
  CorrelationSums merged = correlator.sums();
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { merged.add(nearly); }), HasSubstr("leave 64 bits"));
  EXPECT_EQ(merged.signal, correlator.sums().signal);
  CorrelationSums many(shape, 0);
  many.images = std::numeric_limits<std::int64_t>::max() / 8;
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { Correlator(many).add(image); }),
              HasSubstr("mask term could leave 64 bits"));
}

TEST(Correlator, RefusesSumsThatNoImagesHave) {
  const PolarShape shape{2, 8};
  CorrelationSums sums = direct_sums(shape, random_images(shape, 3, 9));
  sums.signal[9] = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { Correlator{sums}; }),
              HasSubstr("cannot be a sum of images"));
  sums = direct_sums(shape, random_images(shape, 3, 9));
  sums.mask[0] = 25;
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { Correlator{sums}; }), HasSubstr("not those of 3 images"));
  sums.mask.pop_back();
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { Correlator{sums}; }), HasSubstr("23 values are not 24"));
  CorrelationSums scaled = direct_sums(shape, random_images(shape, 3, 9));
  scaled.scale = 1;
  EXPECT_THAT(
      message_of(ErrorKind::kInput, [&] { scaled.add(direct_sums(shape, random_images(shape, 3, 9))); }),
      HasSubstr("with `scale` 0"));
}

TEST(Correlator, RefusesWhatItCannotRoundSafely) {
  const PolarShape shape{1, 65521};  // a prime number of angles
  Correlator correlator(shape, 0);
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { correlator.add(Images(shape.values(), 32767)); }),
              HasSubstr("small prime factors"));
  correlator.add(Images(shape.values(), 2));
  for (const std::int64_t sum : correlator.sums().signal) ASSERT_EQ(sum, 4 * 65521);
}

TEST(Correlator, RefusesShapesAndSizesThatDoNotGoTogether) {
  EXPECT_THAT(message_of(ErrorKind::kUsage, [] { Correlator({0, 5}, 0); }), HasSubstr("0 rings x 5 angles"));
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [] {
                           Correlator({5, 70000}, 0);
                         }),
              HasSubstr("5 rings x 70000 angles"));
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [] {
                           Correlator({5, 5}, 0, {1, 100000});
                         }),
              HasSubstr("`block`"));
  Correlator correlator({2, 4}, 0);
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { correlator.add(Images(9)); }),
              HasSubstr("9 values are no whole number"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { correlator.add(Images(24), Masks(16)); }),
              HasSubstr("16 values are neither"));
  correlator.add({});
  EXPECT_EQ(correlator.sums().images, 0U);
  for (const double value : correlator.sums().normalized()) EXPECT_TRUE(std::isnan(value));
}

TEST(Correlator, TakesMemoryThatDependsOnTheShapeOnly) {
  const PolarShape shape{300, 256};
  EXPECT_EQ(shape.correlations() * sizeof(std::int64_t), 92'467'200U);
  const std::size_t bytes = Correlator::bytes(shape, {1, 64});
  EXPECT_GT(bytes, 2 * 92'467'200U + 129U * 300 * 300 * 16 + 129U * 300 * 64 * 16);
  EXPECT_LT(bytes, 480'000'000U);
  EXPECT_LT(FastCorrelator::bytes(shape, {1, 64}), bytes);
}

TEST(Correlator, LeavesTheNumberOfThreadsOfOpenBlas) {
  openblas_set_num_threads(2);
  const int before = openblas_get_num_threads();  // 1 if it is built without threads
  correlate({4, 16}, random_images({4, 16}, 5, 10));
  EXPECT_EQ(openblas_get_num_threads(), before);
}

TEST(CorrelationSums, ExpandToAllPairs) {
  const PolarShape shape{4, 9};
  const Images images = random_images(shape, 2, 11);
  const CorrelationSums sums = correlate(shape, images);
  const LargeVector<std::int64_t> all = expand_correlation(shape, std::span<const std::int64_t>(sums.signal));
  for (std::size_t q = 0; q < 4; ++q) {
    for (std::size_t other = 0; other < 4; ++other) {
      for (std::size_t d = 0; d < 9; ++d) {
        std::int64_t expected = 0;
        for (std::size_t image = 0; image < 2; ++image) {
          for (std::size_t phi = 0; phi < 9; ++phi) {
            expected += std::int64_t{images[image * 36 + q * 9 + phi]} *
                        images[image * 36 + other * 9 + (phi + d) % 9];
          }
        }
        EXPECT_EQ(all[(q * 4 + other) * 9 + d], expected) << q << ", " << other << ", " << d;
      }
    }
  }
}

TEST(FastCorrelator, IsCloseToTheExactOne) {
  const PolarShape shape{30, 64};
  for (const std::size_t block : {0, 7}) {
    const Images images = random_images(shape, 50, 12, -2048, 2047);
    const Masks masks = random_masks(shape, 50, 13, 0.1);
    FastCorrelator fast(shape, 3, {2, block});
    fast.add(images, masks);
    Correlator exact(shape, 3);
    exact.add(images, masks);
    EXPECT_EQ(fast.sums().mask, exact.sums().mask);
    EXPECT_EQ(fast.sums().images, 50U);
    const auto energy = static_cast<float>(exact.sums().signal[0]);
    for (std::size_t i = 0; i < shape.correlations(); ++i) {
      ASSERT_NEAR(fast.sums().signal[i], static_cast<float>(exact.sums().signal[i]), 2e-6F * energy)
          << "at " << i;
    }
    const LargeVector<float> preview = fast.sums().normalized();
    const LargeVector<double> result = exact.sums().normalized();
    EXPECT_NEAR(preview[0], result[0], 2e-6 * result[0]);
  }
}

TEST(FastCorrelator, GoesOnBeyondWhatItSumsInOneGo) {
  const PolarShape shape{2, 8};
  const Images images = random_images(shape, 5000, 14, 0, 100);
  FastCorrelator fast(shape, 0, {1, 64});
  fast.add(images);
  const CorrelationSums exact = correlate(shape, images);
  for (std::size_t i = 0; i < shape.correlations(); ++i) {
    ASSERT_NEAR(fast.sums().signal[i] / static_cast<float>(exact.signal[i]), 1, 1e-5) << "at " << i;
  }
}

}  // namespace
}  // namespace annulus
