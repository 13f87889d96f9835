// The geometry by hand: places whose angles are known without a formula. tests/oracle holds the rest to
// pyFAI.
#include <annulus/geometry/projection.hpp>

#include <gtest/gtest.h>

namespace annulus {
namespace {

constexpr double kPi = std::numbers::pi;

Geometry plain() {
  Geometry geometry;
  geometry.distance = 0.2;
  geometry.poni1 = 0.05;
  geometry.poni2 = 0.03;
  geometry.wavelength = 1e-10;
  geometry.detector.pixel1 = 1e-3;
  geometry.detector.pixel2 = 2e-3;
  return geometry;
}

TEST(Projection, BeamHitsThePoniWithoutRotations) {
  const Projection projection(plain());
  const auto point = projection.locate(0, 0);
  for (const auto quantity : {RadialQuantity::kRadius, RadialQuantity::kTwoTheta, RadialQuantity::kQ}) {
    EXPECT_EQ(projection.radial(point, quantity), 0);
  }
  EXPECT_EQ(projection.solid_angle(0, 0), 1);
}

TEST(Projection, AsFarAsideAsAwayIsSeenUnder45Degrees) {
  const Projection projection(plain());
  const auto up = projection.locate(0.2, 0), aside = projection.locate(0, -0.2);
  EXPECT_NEAR(projection.radial(up, RadialQuantity::kTwoTheta), kPi / 4, 1e-15);
  EXPECT_NEAR(projection.radial(aside, RadialQuantity::kRadius), 0.2, 1e-16);
  EXPECT_NEAR(projection.radial(up, RadialQuantity::kQ), 4e-9 * kPi / 1e-10 * std::sin(kPi / 8), 1e-13);
  EXPECT_NEAR(Projection::azimuth(up), kPi / 2, 1e-15);
  EXPECT_NEAR(std::abs(Projection::azimuth(aside)), kPi, 1e-15);
  EXPECT_NEAR(projection.solid_angle(0.2, 0), std::pow(0.5, 1.5), 1e-15);
}

TEST(Projection, PolarizationVanishesAlongAFullyPolarizedBeamAtRightAngles) {
  Geometry geometry = plain();
  geometry.rot1 = kPi / 2;  // the detector looks at the sample from the side, 90 degrees from the beam
  const Projection projection(geometry);
  const auto point = projection.locate(0, 0);
  EXPECT_NEAR(projection.radial(point, RadialQuantity::kTwoTheta), kPi / 2, 1e-15);
  EXPECT_NEAR(Projection::polarization(point, 1.0), 0, 1e-15);
  EXPECT_NEAR(Projection::polarization(point, -1.0), 1, 1e-15);
  EXPECT_NEAR(Projection::polarization(point, 0.0), 0.5, 1e-15);
}

TEST(Projection, CentresLieBetweenCorners) {
  const Projection projection(plain());
  EXPECT_NEAR(projection.centre1(10), 10.5e-3 - 0.05, 1e-16);
  EXPECT_NEAR(projection.centre2(10), 21e-3 - 0.03, 1e-16);
  EXPECT_EQ(projection.corner1(0), -0.05);
  EXPECT_NEAR(projection.corner2(11), 22e-3 - 0.03, 1e-16);
}

}  // namespace
}  // namespace annulus
