#include <gtest/gtest.h>
#include <tools/simulate/portable_math.hpp>

#include <cmath>

namespace annulus {
namespace {

constexpr double kUlp = 0x1p-52;

TEST(PortableMath, ExpAgreesWithTheLibraryToFewUnitsInTheLastPlace) {
  for (double x = -690; x < 690; x += 0.3721) {
    ASSERT_NEAR(portable::exp(x) / std::exp(x), 1, 4 * kUlp) << x;
  }
  EXPECT_EQ(portable::exp(0), 1);
  EXPECT_EQ(portable::exp(-701), 0);
}

TEST(PortableMath, LogAgreesWithTheLibraryToFewUnitsInTheLastPlace) {
  for (double x = 1e-300; x < 1e300; x *= 1.7321) {
    ASSERT_NEAR(portable::log(x), std::log(x), 4 * kUlp * std::fmax(1, std::fabs(std::log(x)))) << x;
  }
  EXPECT_EQ(portable::log(1), 0);
}

TEST(PortableMath, SineAndCosineOfTurnsAgreeWithTheLibrary) {
  for (double turns = -1.5; turns < 1.5; turns += 0.00137) {
    const auto [sine, cosine] = portable::sin_cos_turns(turns);
    const double angle = 2 * portable::kPi * turns;
    ASSERT_NEAR(sine, std::sin(angle), 12 * kUlp) << turns;
    ASSERT_NEAR(cosine, std::cos(angle), 12 * kUlp) << turns;
  }
}

}  // namespace
}  // namespace annulus
