#include <annulus/core/error.hpp>
#include <annulus/plan/splitting.hpp>

#include <gtest/gtest.h>

#include <numbers>

namespace annulus {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

struct Case {
  Range degrees;
  double low, high, cut;  // degrees
};

class AzimuthWindows : public ::testing::TestWithParam<Case> {};

TEST_P(AzimuthWindows, KeepTheCutOutside) {
  const Case& c = GetParam();
  const AzimuthWindow window = azimuth_window(c.degrees);
  EXPECT_NEAR(window.low, c.low * kDegree, 1e-12);
  EXPECT_NEAR(window.high, c.high * kDegree, 1e-12);
  EXPECT_NEAR(window.cut, c.cut * kDegree, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(
    Ranges, AzimuthWindows,
    ::testing::Values(Case{{-30, 100}, -30, 100, -180}, Case{{-180, 180}, -180, 180, -180},
                      Case{{0, 180}, 0, 180, -180}, Case{{170, -170}, 170, 190, 0},
                      Case{{170, 190}, 170, 190, 0}, Case{{90, 350}, 90, 350, 0},
                      Case{{-190, -170}, 170, 190, 0},
                      // Both 0 and 180 are inside: the cut goes to the middle of what is out.
                      Case{{-100, 240}, -100, 240, -110}, Case{{-100, -120}, -100, 240, -110}));

TEST(AzimuthWindow, RefusesEmptyAndTooWideRanges) {
  EXPECT_THROW(azimuth_window({10, 10}), Error);
  EXPECT_THROW(azimuth_window({-200, 200}), Error);
  EXPECT_THROW(azimuth_window({0, std::numeric_limits<double>::quiet_NaN()}), Error);
}

}  // namespace
}  // namespace annulus
