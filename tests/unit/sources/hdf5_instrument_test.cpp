// What master files say of the detector's arm.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hdf5_fixture.hpp"

namespace annulus {
namespace {

constexpr const char* kArmAngle = "/entry/instrument/detector/goniometer/two_theta";

class ArmTest : public Hdf5Test {
 protected:
  void detector() {
    for (const char* name : {"/entry", "/entry/data", "/entry/instrument", "/entry/instrument/detector",
                             "/entry/instrument/detector/goniometer"}) {
      group(name);
    }
    ints("/entry/data/data", {1, 1, 2});
    number("/entry/instrument/detector/detector_distance", 250, "mm");
  }

  double two_theta() {
    const auto source = open_source(close());
    EXPECT_TRUE(source->info().place);
    return source->info().place ? source->info().place->two_theta : 0;
  }
};

TEST_F(ArmTest, TheLargestAngleCountsWhicheverFrameItIsOf) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::vector<double>, double>> cases = {
      {{0, 5, 10}, 10}, {{0, -12, 10, 3}, -12}, {{kNone, 0, 4}, 4}, {{30}, 30}, {{0, 0}, 0}};
  for (const auto& [angles, largest] : cases) {
    open("arm.h5");
    detector();
    dataset<double>(kArmAngle, {angles.size()}, angles, H5T_NATIVE_DOUBLE, H5T_IEEE_F32LE);
    attribute(kArmAngle, "units", "degree");
    EXPECT_EQ(two_theta(), largest);
  }
}

TEST_F(ArmTest, AnglesThatCannotBeReadAreNotTakenForNone) {
  detector();
  const hid_t id = packed(kArmAngle, {3}, {3}, H5T_IEEE_F64LE, 31999, {});
  put_chunk(id, {0}, std::vector<std::byte>(24));
  H5Dclose(id);
  EXPECT_TRUE(std::isnan(two_theta()));
}

}  // namespace
}  // namespace annulus
