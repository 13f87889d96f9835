#include <annulus/geometry/unit.hpp>

#include <gtest/gtest.h>

namespace annulus {
namespace {

TEST(Unit, NamesArePyfaisAndReadBackToThemselves) {
  for (const char* name : {"r_m", "r_mm", "2th_deg", "2th_rad", "q_nm^-1", "q_A^-1"}) {
    const auto unit = unit_from_name(name);
    ASSERT_TRUE(unit.has_value()) << name;
    EXPECT_EQ(name_of(*unit), name);
  }
  EXPECT_FALSE(unit_from_name("2th").has_value());
  EXPECT_FALSE(unit_from_name("").has_value());
  EXPECT_EQ(known_units(), "r_m, r_mm, 2th_deg, 2th_rad, q_nm^-1, q_A^-1");
}

// pyFAI.units.RADIAL_UNITS[name].scale, printed by Python's repr.
TEST(Unit, ScalesArePyfais) {
  EXPECT_EQ(scale_of(Unit::kRadiusM), 1.0);
  EXPECT_EQ(scale_of(Unit::kRadiusMm), 1000.0);
  EXPECT_EQ(scale_of(Unit::kTwoThetaDeg), 57.29577951308232);
  EXPECT_EQ(scale_of(Unit::kTwoThetaRad), 1.0);
  EXPECT_EQ(scale_of(Unit::kQPerNm), 1.0);
  EXPECT_EQ(scale_of(Unit::kQPerA), 0.1);
}

TEST(Unit, QuantityAndNexusNamesBelongToTheUnit) {
  EXPECT_EQ(quantity_of(Unit::kRadiusMm), RadialQuantity::kRadius);
  EXPECT_EQ(quantity_of(Unit::kTwoThetaRad), RadialQuantity::kTwoTheta);
  EXPECT_EQ(quantity_of(Unit::kQPerA), RadialQuantity::kQ);
  EXPECT_EQ(nexus_units(Unit::kRadiusM), "m");
  EXPECT_EQ(nexus_units(Unit::kRadiusMm), "mm");
  EXPECT_EQ(nexus_units(Unit::kTwoThetaDeg), "deg");
  EXPECT_EQ(nexus_units(Unit::kTwoThetaRad), "rad");
  EXPECT_EQ(nexus_units(Unit::kQPerNm), "1/nm");
  EXPECT_EQ(nexus_units(Unit::kQPerA), "1/angstrom");
  EXPECT_EQ(nexus_name(Unit::kRadiusMm), "r");
  EXPECT_EQ(nexus_name(Unit::kTwoThetaDeg), "2theta");
  EXPECT_EQ(nexus_name(Unit::kQPerNm), "q");
  EXPECT_EQ(axis_label(Unit::kQPerNm), "q (1/nm)");
}

}  // namespace
}  // namespace annulus
