#include <annulus/plan/axis.hpp>

#include <gtest/gtest.h>

namespace annulus {
namespace {

TEST(Axis, LabelsAreThoseOfTheUnitOrTheWordsOfTheFile) {
  EXPECT_EQ(label_of({AxisKind::kRadial, "2theta", "deg"}), "2θ (°)");
  EXPECT_EQ(label_of({AxisKind::kRadial, "q", "1/angstrom"}), "q (1/Å)");
  EXPECT_EQ(label_of({AxisKind::kRadial, "energy", "keV"}), "energy (keV)");
  EXPECT_EQ(label_of({AxisKind::kAzimuth, "chi", "degrees"}), "Azimuth χ (°)");
}

TEST(Axis, BeginsAndEndsAtItsEdgesOrElseAtItsCentres) {
  Axis axis{AxisKind::kRadial, "q", "1/nm", {1.5, 2.5}, {1, 2, 3}};
  EXPECT_EQ(axis.low(), 1);
  EXPECT_EQ(axis.high(), 3);
  axis.edges.clear();
  EXPECT_EQ(axis.low(), 1.5);
  EXPECT_EQ(axis.high(), 2.5);
}

TEST(Axis, BinsOfSeveralAxesMultiply) {
  std::vector<Axis> axes;
  EXPECT_EQ(bin_count(axes), 0u);
  axes.emplace_back().centres.resize(7);
  EXPECT_EQ(bin_count(axes), 7u);
  axes.emplace_back().centres.resize(5);
  EXPECT_EQ(bin_count(axes), 35u);
}

}  // namespace
}  // namespace annulus
