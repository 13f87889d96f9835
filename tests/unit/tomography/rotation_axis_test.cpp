#include <annulus/tomography/rotation_axis.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.hpp"
#include "phantom.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;

const std::vector<Disc> kInnerDiscs = {{0, 0, 14, 1}, {-20, 13, 8, 2.5}, {17, 20, 6, 0.7}, {5, -24, 9, 1.4}};

std::vector<double> with_end(std::size_t count, double turn) {
  std::vector<double> angles = even_angles(count, turn);
  angles.push_back(turn);
  return angles;
}

// Noise of the given standard deviation, nearly normal.
void add_noise(Sinogram& sinogram, double deviation, std::uint64_t seed) {
  Noise noise(seed);
  for (float& value : sinogram.values) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += noise();
    value += static_cast<float>(deviation * sum);
  }
}

TEST(RotationAxis, IsFoundBetweenPositions) {
  for (const double axis : {50.0, 50.5, 46.31, 55.87}) {
    for (const double turn : {1.0, 2.0}) {
      const ScanGeometry scan{with_end(180, turn * std::numbers::pi), 110, axis};
      const RotationAxis found = find_rotation_axis(scan_discs(kInnerDiscs, scan, 3).view(), scan.angles);
      EXPECT_NEAR(found.best.position, axis, 0.02);
      ASSERT_TRUE(found.from_pair && found.from_sinogram);
      EXPECT_NEAR(found.from_pair->position, axis, 0.05);
      EXPECT_NEAR(found.from_sinogram->position, axis, 0.01);
      EXPECT_LT(found.best.uncertainty, 0.1);
    }
  }
}

TEST(RotationAxis, NeedsNoPairOfProjections) {
  const ScanGeometry scan{even_angles(120, 2.5), 110, 52.4};  // up to 143 degrees
  const RotationAxis found = find_rotation_axis(scan_discs(kInnerDiscs, scan).view(), scan.angles);
  EXPECT_FALSE(found.from_pair);
  EXPECT_NEAR(found.best.position, 52.4, 0.01);
  const ScanGeometry three{{0, 0.7, std::numbers::pi}, 110, 52.4};  // nor a sinusoid
  const RotationAxis pair = find_rotation_axis(scan_discs(kInnerDiscs, three).view(), three.angles);
  EXPECT_FALSE(pair.from_sinogram);
  EXPECT_NEAR(pair.best.position, 52.4, 0.05);
}

TEST(RotationAxis, IsFoundInNoiseOnABackgroundWithinItsUncertainty) {
  int far = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const ScanGeometry scan{with_end(60, std::numbers::pi), 110, 53.7};
    Sinogram sinogram = scan_discs(kInnerDiscs, scan);  // up to 60 high
    for (float& value : sinogram.values) value += 30;
    add_noise(sinogram, 3, seed);
    const RotationAxis found = find_rotation_axis(sinogram.view(), scan.angles);
    EXPECT_NEAR(found.best.position, 53.7, 0.5);
    EXPECT_LT(found.best.uncertainty, 0.3);
    far += std::abs(found.best.position - 53.7) > 2 * found.best.uncertainty ? 1 : 0;
  }
  EXPECT_LE(far, 4) << "of 20, one is to be expected";
}

TEST(RotationAxis, IsRefusedWhereItCannotBeFound) {
  const std::vector<double> angles = with_end(40, std::numbers::pi);
  const auto refused = [&](const Sinogram& sinogram) {
    return message_of(ErrorKind::kInput, [&] { find_rotation_axis(sinogram.view(), angles); });
  };
  Sinogram same(41, 50, 2);
  EXPECT_THAT(refused(same), HasSubstr("the same everywhere"));
  std::ranges::fill(same.values, 7.5F);
  EXPECT_THAT(refused(same), HasSubstr("`axis`"));
  EXPECT_THAT(refused(random_sinogram(41, 50, 1, 3)), HasSubstr("cannot be found"));
  same.at(3, 4)[1] = std::nanf("");
  EXPECT_THAT(refused(same), HasSubstr("is nan"));
  EXPECT_THAT(refused(Sinogram(3, 50, 2)), HasSubstr("3 angles"));
}

}  // namespace
}  // namespace annulus
