#include <annulus/scan/scan_axis.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "../message_of.hpp"

namespace annulus {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ScanAxis axis_of(const std::vector<double>& values, const AxisRule& rule = {}) {
  return find_axis({"x", "mm"}, values, rule);
}

std::string refusal(const std::vector<double>& values, const AxisRule& rule = {},
                    ErrorKind kind = ErrorKind::kInput) {
  return message_of(kind, [&] { axis_of(values, rule); });
}

TEST(ScanAxis, PositionsAscendWhateverTheOrderOfTheFrames) {
  const ScanAxis axis = axis_of({3, 1, 2, 1, 3, 2});
  EXPECT_THAT(axis.positions, ElementsAre(1, 2, 3));
  EXPECT_THAT(axis.position_of, ElementsAre(2, 0, 1, 0, 2, 1));
  EXPECT_EQ(axis.column.unit, "mm");
}

TEST(ScanAxis, NoiseIsOnePositionAndItsPlaceIsTheMean) {
  const ScanAxis axis = axis_of({0.001, 1.002, -0.001, 0.998, 2.003, 1.997});
  EXPECT_THAT(axis.positions, Pointwise(DoubleNear(1e-12), std::vector<double>{0, 1, 2}));
  EXPECT_GT(axis.tolerance, 0.006);
  EXPECT_LT(axis.tolerance, 0.99);
}

TEST(ScanAxis, UnevenStepsAreStepsEvenIfEachIsVisitedOnce) {
  EXPECT_EQ(axis_of({0, 1, 2, 4, 8, 16, 32, 64}).size(), 8u);
  EXPECT_EQ(axis_of({0, 0.1, 0.3, 1, 1.2, 3.9}).size(), 6u);
}

TEST(ScanAxis, ValuesThatDifferByRoundingAreTheSame) {
  const double third = 1.0 / 3;
  EXPECT_EQ(axis_of({third, 1 - 2 * third, 2 * third, third + third, 0.1 + 0.7, 0.8}).size(), 3u);
}

TEST(ScanAxis, AStatedToleranceDecides) {
  const std::vector<double> values = {0, 0.1, 0.2, 1, 1.1, 2};
  EXPECT_EQ(axis_of(values, {.tolerance = 0.15}).size(), 3u);
  EXPECT_EQ(axis_of(values, {.tolerance = 0.05}).size(), 6u);
  EXPECT_EQ(axis_of(values, {.tolerance = 0.15}).tolerance, 0.15);
  EXPECT_EQ(axis_of({0, 0.5, 1}, {.tolerance = 0}).size(), 3u);
}

TEST(ScanAxis, AStepDividesWhatMoved) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(0.01 * i);
  const ScanAxis axis = axis_of(values, {.step = 0.1});
  ASSERT_EQ(axis.size(), 10u);
  EXPECT_EQ(axis.position_of[55], 5u);
  EXPECT_NEAR(axis.positions[5], 0.545, 1e-12);
}

TEST(ScanAxis, AStepPutsRoughStopsIntoTheirIntervals) {
  std::mt19937 random(5);
  for (const double jitter : {0.0, 0.1, 0.3, 0.4, 0.49}) {
    std::uniform_real_distribution<double> noise(-jitter, jitter);
    std::vector<double> values;
    std::vector<std::uint32_t> stops;
    for (int i = 0; i < 400; ++i) {
      stops.push_back(static_cast<std::uint32_t>(i % 20));
      values.push_back(-3.7 + 0.02 * (i % 20 + noise(random)));
    }
    const ScanAxis axis = axis_of(values, {.step = 0.02});
    ASSERT_EQ(axis.size(), 20u) << jitter;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) wrong += axis.position_of[i] != stops[i] ? 1 : 0;
    EXPECT_LE(wrong, jitter < 0.45 ? 0u : 20u) << jitter;
  }
}

TEST(ScanAxis, AStepPutsRoughAnglesTogetherAcrossTheEndOfAPeriod) {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> noise(-0.8, 0.8);
  std::vector<double> values;
  for (int i = 0; i < 720; ++i) values.push_back(3.0 * i + noise(random));
  const ScanAxis axis = axis_of(values, {.step = 3, .period = 360});
  ASSERT_EQ(axis.size(), 120u);
  for (std::uint32_t i = 0; i < 720; ++i) EXPECT_EQ(axis.position_of[i], i % 120) << i;
}

TEST(ScanAxis, MissingValuesAreNowhere) {
  const ScanAxis axis = axis_of({kNan, 1, kInfinity, 2, -kInfinity});
  EXPECT_THAT(axis.positions, ElementsAre(1, 2));
  EXPECT_THAT(axis.position_of,
              ElementsAre(ScanAxis::kNowhere, 0, ScanAxis::kNowhere, 1, ScanAxis::kNowhere));
}

TEST(ScanAxis, AnglesMeetAcrossTheEndOfAPeriod) {
  // A helical scan: three turns of four angles, never quite the same.
  std::vector<double> values;
  for (int i = 0; i < 12; ++i) values.push_back(90.0 * i + (i % 3 == 0 ? -0.01 : 0.01));
  const ScanAxis axis = axis_of(values, {.period = 360});
  ASSERT_EQ(axis.size(), 4u);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(axis.position_of[i], i % 4) << i;
  EXPECT_NEAR(axis.positions[0], 0.01 / 3, 1e-9);
  EXPECT_NEAR(axis.positions[3], 270, 0.011);
}

TEST(ScanAxis, ATinyNegativeAngleIsZeroNotAWholeTurn) {
  const ScanAxis axis = axis_of({-1e-17, 90, 180, 270, 0}, {.period = 360});
  EXPECT_EQ(axis.size(), 4u);
  EXPECT_EQ(axis.position_of[0], axis.position_of[4]);
}

TEST(ScanAxis, WhatCannotBeAnAxisIsNamed) {
  EXPECT_THAT(refusal({5, 5, 5}), HasSubstr("column x: it never moves: all of its 3 values are 5"));
  EXPECT_THAT(refusal({5}), HasSubstr("it never moves"));
  EXPECT_THAT(refusal({kNan, kNan}), HasSubstr("none of its 2 values is a number"));
  EXPECT_THAT(refusal({}), HasSubstr("there are no frames"));
  EXPECT_THAT(refusal({1, 1.1, 1.2}, {.tolerance = 1}), HasSubstr("one position only"));
  EXPECT_THAT(refusal({1, 2}, {.tolerance = -1}, ErrorKind::kUsage), HasSubstr("tolerance"));
  EXPECT_THAT(refusal({1, 2}, {.step = 0}, ErrorKind::kUsage), HasSubstr("step"));
  EXPECT_THAT(refusal({1, 2}, {.period = kNan}, ErrorKind::kUsage), HasSubstr("period"));
  EXPECT_THAT(refusal({1, 2}, {.tolerance = 1, .step = 1}, ErrorKind::kUsage), HasSubstr("exclude"));
}

// The truth is known: positions with uneven steps, each visited many times with noise of up to 1 % of the
// least step, in random order, with gaps.
TEST(ScanAxis, FindsNoisyUnevenPositionsOfRandomScans) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t positions = 2 + random() % 60, visits = 1 + random() % 40;
    const double scale = std::pow(10.0, static_cast<int>(random() % 9) - 4);
    const double offset = scale * (static_cast<double>(random() % 2001) - 1000);
    std::uniform_real_distribution<double> step(1, 3), noise(-0.01, 0.01);
    std::vector<double> truth{offset};
    while (truth.size() < positions) truth.push_back(truth.back() + scale * step(random));
    std::vector<std::pair<double, std::size_t>> taken;
    for (std::size_t i = 0; i < positions; ++i) {
      taken.emplace_back(truth[i] + scale * noise(random), i);
      for (std::size_t j = 1; j < visits; ++j) taken.emplace_back(truth[i] + scale * noise(random), i);
    }
    std::ranges::shuffle(taken, random);
    std::vector<double> values;
    for (const auto& [value, place] : taken) values.push_back(value);
    const ScanAxis axis = axis_of(values);
    ASSERT_EQ(axis.size(), positions) << "round " << round << ", " << visits << " visits";
    for (std::size_t i = 0; i < taken.size(); ++i) ASSERT_EQ(axis.position_of[i], taken[i].second);
    for (std::size_t i = 0; i < positions; ++i) ASSERT_NEAR(axis.positions[i], truth[i], 0.011 * scale);
  }
}

// A parking position, 500, makes steps of 1 look like noise.
TEST(ScanAxis, OneValueFarAwayDoesNotHideTheSteps) {
  std::vector<double> values;
  for (int i = 0; i < 200; ++i) values.push_back(i % 25);
  values.push_back(500);
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { find_axis({"x"}, values); }),
              HasSubstr("200 of its 201 values, from 0 to 24, count as one position beside 500"));
  AxisRule rule;
  rule.tolerance = 0.1;
  EXPECT_EQ(find_axis({"x"}, values, rule).size(), 26);
}

}  // namespace
}  // namespace annulus
