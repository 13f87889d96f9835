#include <annulus/correlation/polar_image.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "message_of.hpp"

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string reason_of(const PolarQuantizer& quantizer, const std::vector<double>& image) {
  IntegerImage integers;
  return quantizer.quantize(image, integers).value_or("taken");
}

TEST(PolarQuantizer, SubtractsTheMeanOfTheValidValuesOfARing) {
  const PolarQuantizer quantizer({2, 4}, 1, {});
  IntegerImage integers;
  EXPECT_EQ(quantizer.quantize(std::vector<double>{1, 2, kNaN, 6, 10, 10, 10, 11}, integers), std::nullopt);
  // Means are 3 and 10.25; halves are rounded to even.
  EXPECT_THAT(integers.values, ElementsAre(-4, -2, 0, 6, 0, 0, 0, 2));
  EXPECT_THAT(integers.valid, ElementsAre(1, 1, 0, 1, 1, 1, 1, 1));
}

TEST(PolarQuantizer, LeavesTheMeanOnRequest) {
  const PolarQuantizer quantizer({1, 4}, -1, {.subtract_mean = false, .least_mean = {}, .most_mean = {}});
  IntegerImage integers;
  EXPECT_EQ(quantizer.quantize(std::vector<double>{1, 3, kNaN, -8}, integers), std::nullopt);
  EXPECT_THAT(integers.values, ElementsAre(0, 2, 0, -4));
}

TEST(PolarQuantizer, RejectsImagesWithAReason) {
  const PolarQuantizer plain({1, 3}, 0, {.subtract_mean = false, .least_mean = {}, .most_mean = {}});
  EXPECT_EQ(reason_of(plain, {32767.4, -32768.4, 0}), "taken");
  EXPECT_EQ(reason_of(plain, {0, 32767.6, 0}), "a value leaves 16 bits with `scale` 0");
  EXPECT_EQ(reason_of(plain, {0, 0, -32768.6}), "a value leaves 16 bits with `scale` 0");
  EXPECT_THAT(reason_of(plain, {0, kInfinity, 0}), HasSubstr("is infinite"));
  EXPECT_THAT(reason_of(plain, {kNaN, kNaN, kNaN}), HasSubstr("all its values are masked"));
  const PolarQuantizer huge({1, 2}, 0, {});
  EXPECT_THAT(reason_of(huge, {1.7e308, 1.7e308}), HasSubstr("the sum of all, is infinite"));
  EXPECT_THAT(reason_of(huge, {1e300, -1e300}), HasSubstr("leaves 16 bits"));
  const PolarQuantizer limited({1, 3}, 0, {.subtract_mean = true, .least_mean = 2, .most_mean = 4});
  EXPECT_EQ(reason_of(limited, {1, 3, kNaN}), "taken");
  EXPECT_EQ(reason_of(limited, {4, 4, 4}), "taken");
  EXPECT_THAT(reason_of(limited, {1, 2, kNaN}), HasSubstr("its mean is below `least_mean`, 2"));
  EXPECT_THAT(reason_of(limited, {1, 11, 3}), HasSubstr("its mean is above `most_mean`, 4"));
}

TEST(PolarQuantizer, WhatIsJudgedWithoutAScaleIsWhatItSays) {
  const PolarOptions options{.subtract_mean = true, .least_mean = 2, .most_mean = 4};
  const PolarQuantizer quantizer({1, 3}, 0, options);
  for (const std::vector<double>& image :
       {std::vector<double>{1, 3, kNaN}, {1, 2, kNaN}, {1, 11, 3}, {kNaN, kNaN, kNaN}, {3, kInfinity, 3}}) {
    IntegerImage integers;
    const ImageVerdict verdict = judge_image({1, 3}, options, image);
    EXPECT_EQ(verdict.reason, quantizer.quantize(image, integers));
    EXPECT_TRUE(verdict.mean == integers.mean || (std::isnan(verdict.mean) && std::isnan(integers.mean)));
  }
}

TEST(PolarQuantizer, MakesTheSameOfCakes) {
  // Sizes that no tile divides.
  const PolarShape shape{21, 35};
  std::mt19937 random(5);
  std::normal_distribution<double> value(50, 20);
  for (const bool masked : {false, true}) {
    std::vector<double> by_ring(shape.values()), by_angle(shape.values());
    for (std::size_t ring = 0; ring < shape.rings; ++ring) {
      for (std::size_t angle = 0; angle < shape.angles; ++angle) {
        const double here = masked && random() % 5 == 0 ? kNaN : value(random);
        by_ring[ring * shape.angles + angle] = by_angle[angle * shape.rings + ring] = here;
      }
    }
    for (const bool subtract_mean : {false, true}) {
      const PolarQuantizer quantizer(shape, 7, {subtract_mean, {}, {}});
      IntegerImage one, other;
      EXPECT_EQ(quantizer.quantize(by_ring, one), std::nullopt);
      EXPECT_EQ(quantizer.quantize(by_angle, other, PolarOrder::kByAngle), std::nullopt);
      EXPECT_EQ(one.values, other.values);
      EXPECT_EQ(one.valid, other.valid);
      EXPECT_EQ(one.mean, other.mean);
      EXPECT_EQ(one.valid.empty(), !masked);
      for (std::size_t i = 0; !subtract_mean && i < shape.values(); ++i)
        EXPECT_EQ(one.values[i], std::isnan(by_ring[i]) ? 0 : std::rint(by_ring[i] * 128)) << i;
    }
    ScaleFinder finder(shape, {}), of_cakes(shape, {});
    finder.add(by_ring);
    of_cakes.add(by_angle, PolarOrder::kByAngle);
    EXPECT_EQ(finder.scale(), of_cakes.scale());
  }
}

TEST(PolarQuantizer, RefusesOptionsAndSizes) {
  EXPECT_THAT(message_of(ErrorKind::kUsage, [] { PolarQuantizer({1, 3}, 401, {}); }), HasSubstr("`scale`"));
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [] {
                           PolarQuantizer({1, 3}, 0, {true, 3.0, 2.0});
                         }),
              HasSubstr("no image would be taken"));
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [] {
                           PolarQuantizer({1, 3}, 0, {true, kNaN, {}});
                         }),
              HasSubstr("NaN"));
  EXPECT_THAT(message_of(ErrorKind::kInput,
                         [] {
                           reason_of(PolarQuantizer({1, 3}, 0, {}), {1, 2});
                         }),
              HasSubstr("it has 2 values"));
}

int scale_of(const std::vector<double>& values) {
  ScaleFinder finder({1, values.size()}, {.subtract_mean = false, .least_mean = {}, .most_mean = {}});
  EXPECT_TRUE(finder.add(values));
  return finder.scale();
}

TEST(ScaleFinder, TakesTheLargestScaleThatKeeps12Bits) {
  EXPECT_EQ(scale_of({2047}), 0);
  EXPECT_EQ(scale_of({2047.4}), 0);
  EXPECT_EQ(scale_of({2047.6}), -1);
  EXPECT_EQ(scale_of({2048}), -1);
  EXPECT_EQ(scale_of({-2048}), 0);
  EXPECT_EQ(scale_of({-2048.4}), 0);
  EXPECT_EQ(scale_of({-2049}), -1);
  EXPECT_EQ(scale_of({1023.4}), 1);
  EXPECT_EQ(scale_of({1, kNaN}), 10);
  EXPECT_EQ(scale_of({-1, 0.99}), 11);
  EXPECT_EQ(scale_of({0, 0}), 0);
  EXPECT_EQ(scale_of({1e6}), -9);
  EXPECT_EQ(scale_of({1e-300}), 400);
}

TEST(ScaleFinder, LooksAtTheFirst100ImagesThatAreNotRejected) {
  ScaleFinder finder({1, 2}, {.subtract_mean = true, .least_mean = 0, .most_mean = {}});
  EXPECT_FALSE(finder.add(std::vector<double>{-1000, -3000}));  // its mean
  EXPECT_FALSE(finder.add(std::vector<double>{1, kInfinity}));
  for (std::size_t image = 0; image < ScaleFinder::kImages; ++image) {
    EXPECT_FALSE(finder.decided());
    EXPECT_TRUE(finder.add(std::vector<double>{0, image == 99 ? 200.0 : 20.0}));
  }
  EXPECT_TRUE(finder.decided());
  EXPECT_FALSE(finder.add(std::vector<double>{0, 1e6}));
  EXPECT_EQ(finder.scale(), 4);  // 100 from the mean
}

}  // namespace
}  // namespace annulus
