#include <annulus/correlation/legendre.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "message_of.hpp"

namespace annulus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

double coefficient(std::size_t pair, std::size_t l) {
  return std::cos(3.1 * static_cast<double>(pair) + static_cast<double>(l * l));
}

// By theta as the definition has it, and the polynomials of the standard library.
std::vector<double> synthetic(const PolarShape& shape, const LegendreOptions& options) {
  std::vector<double> values;
  for (std::size_t q = 0; q < shape.rings; ++q) {
    for (std::size_t other = q; other < shape.rings; ++other) {
      const auto theta = [&](std::size_t ring) {
        return std::numbers::pi / 2 -
               (options.wavelength == 0
                    ? 0
                    : std::asin(options.q[ring] * options.wavelength / (4 * std::numbers::pi)));
      };
      for (std::size_t d = 0; d < shape.angles; ++d) {
        const double turn = 2 * std::numbers::pi * static_cast<double>(d) / static_cast<double>(shape.angles);
        const double cosine = std::cos(theta(q)) * std::cos(theta(other)) +
                              std::sin(theta(q)) * std::sin(theta(other)) * std::cos(turn);
        double sum = 0;
        for (std::size_t l = 0; l <= options.highest; l += options.even_only ? 2 : 1) {
          sum += coefficient(shape.pair(q, other), l) *
                 std::legendre(static_cast<unsigned>(l), std::clamp(cosine, -1.0, 1.0));
        }
        values.push_back(sum / (4 * std::numbers::pi));
      }
    }
  }
  return values;
}

TEST(Legendre, FindsTheCoefficientsThatMadeACorrelation) {
  const PolarShape shape{4, 48};
  for (const double wavelength : {0.0, 1.5}) {
    for (const bool even_only : {true, false}) {
      for (const unsigned threads : {1, 3}) {
        const LegendreOptions options{10, even_only, wavelength, {0.1, 0.9, 2.0, 4.0}, threads};
        std::vector<double> correlation = synthetic(shape, options);
        correlation[3] = correlation[48 + 45] = std::numeric_limits<double>::quiet_NaN();
        const LegendreCoefficients found = legendre_coefficients(shape, correlation, options);
        ASSERT_EQ(found.orders.size(), even_only ? 6U : 11U);
        for (std::size_t pair = 0; pair < shape.pairs(); ++pair) {
          EXPECT_GE(found.conditions[pair], 1);
          for (std::size_t i = 0; i < found.orders.size(); ++i) {
            EXPECT_NEAR(found.values[pair * found.orders.size() + i], coefficient(pair, found.orders[i]),
                        1e-13 * found.conditions[pair])
                << "pair " << pair << ", l " << found.orders[i] << ", wavelength " << wavelength;
          }
        }
      }
    }
  }
}

TEST(Legendre, ReportsTheCondition) {
  const PolarShape shape{1, 8};
  const std::vector<double> correlation(8, 2.0);
  const LegendreCoefficients one = legendre_coefficients(shape, correlation, {0, true, 0, {}, 1});
  EXPECT_THAT(one.orders, ElementsAre(0));
  EXPECT_NEAR(one.values[0], 8 * std::numbers::pi, 1e-12);
  EXPECT_NEAR(one.conditions[0], 1, 1e-12);
  // P_0 and P_1 = cos d over a full turn are orthogonal, of norms sqrt(8) and 2.
  const LegendreCoefficients two = legendre_coefficients(shape, correlation, {1, false, 0, {}, 1});
  EXPECT_NEAR(two.conditions[0], std::sqrt(2.0), 1e-12);
}

TEST(Legendre, GivesNoNumbersWhereAnglesDoNotDetermineThem) {
  const PolarShape shape{2, 8};
  std::vector<double> correlation(24, 1.0);
  for (std::size_t i = 0; i < 16; ++i) correlation[i] = std::numeric_limits<double>::quiet_NaN();
  for (const std::size_t d : {1, 7, 2}) correlation[8 + d] = 1;  // two different cosines
  const LegendreCoefficients found = legendre_coefficients(shape, correlation, {4, true, 0, {}, 1});
  for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(std::isnan(found.values[i])) << i;
  EXPECT_TRUE(std::isinf(found.conditions[0]));
  EXPECT_TRUE(std::isinf(found.conditions[1]));
  EXPECT_NEAR(found.values[6], 4 * std::numbers::pi, 1e-12);
}

TEST(Legendre, RefusesWhatMakesNoSense) {
  const PolarShape shape{2, 8};
  const std::vector<double> correlation(24, 1.0);
  const auto message = [&](const LegendreOptions& options) {
    return message_of(ErrorKind::kUsage, [&] { legendre_coefficients(shape, correlation, options); });
  };
  EXPECT_THAT(message({10, true, 1, {0.1, 0.2}, 1}), HasSubstr("at most 5"));
  // On a flat sphere, every cosine and its negative: even polynomials of cos d have 3 values there.
  EXPECT_THAT(message({6, true, 0, {}, 1}), HasSubstr("at most 3"));
  EXPECT_THAT(message({10, false, 0, {}, 1}), HasSubstr("at most 5"));
  EXPECT_THAT(message({2, true, -1, {}, 1}), HasSubstr("-1 is no wavelength"));
  EXPECT_THAT(message({2, true, 1, {0.1}, 1}), HasSubstr("1 values for 2 rings"));
  EXPECT_THAT(message({2, true, 1, {0.1, 13}, 1}), HasSubstr("ring 1, q 13, cannot be reached"));
  EXPECT_THAT(message_of(ErrorKind::kInput,
                         [&] {
                           legendre_coefficients({3, 8}, correlation, {});
                         }),
              HasSubstr("it has 24 values"));
}

}  // namespace
}  // namespace annulus
