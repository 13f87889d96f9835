#include <annulus/core/error.hpp>
#include <annulus/engine/file_geometry.hpp>
#include <annulus/geometry/geometry.hpp>

#include <gmock/gmock.h>

#include <limits>
#include <string>

namespace annulus::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

SourceInfo eiger_4m() {
  SourceInfo info;
  info.shape = {2167, 2070};
  info.wavelength = 1e-10;
  info.place = DetectorPlace{"Dectris Eiger 4M", 0.2, 1000.5, 1100.25, 75e-6, 75e-6};
  return info;
}

std::string fault_of(const SourceInfo& info) {
  try {
    geometry_of_file(info, "a_master.h5");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(FileGeometry, TheBeamCentreIsThePoni) {
  const Geometry geometry = geometry_of_file(eiger_4m(), "a_master.h5");
  EXPECT_DOUBLE_EQ(geometry.distance, 0.2);
  EXPECT_DOUBLE_EQ(geometry.poni1, 1100.25 * 75e-6) << "y is the slow dimension";
  EXPECT_DOUBLE_EQ(geometry.poni2, 1000.5 * 75e-6);
  EXPECT_EQ(geometry.wavelength, 1e-10);
  EXPECT_EQ(geometry.rot1, 0);
  EXPECT_EQ(geometry.detector, find_detector("Eiger4M"));
}

TEST(FileGeometry, ItsPoniTextLeadsBackToIt) {
  for (const Shape shape : {Shape{2167, 2070}, Shape{100, 200}}) {
    SourceInfo info = eiger_4m();
    info.shape = shape;
    const Geometry geometry = geometry_of_file(info, "a_master.h5");
    Geometry again = parse_poni(format_poni(geometry), "a_master.h5");
    again.detector.dectris = true;  // which a PONI file cannot say of a detector it does not know
    EXPECT_EQ(again, geometry) << to_string(shape);
  }
}

TEST(FileGeometry, DetectorsOfOneShapeAreToldApartByTheirDescription) {
  const auto name_for = [](Shape shape, const char* description) {
    SourceInfo info = eiger_4m();
    info.shape = shape;
    info.place->detector = description;
    return geometry_of_file(info, "a").detector.name;
  };
  EXPECT_EQ(name_for({2162, 2068}, "Dectris EIGER2 Si 4M"), "Eiger2_4M");
  EXPECT_EQ(name_for({2162, 2068}, "Dectris EIGER2 CdTe 4M"), "Eiger2CdTe_4M");
  EXPECT_EQ(name_for({2162, 2068}, ""), "Eiger2_4M");
}

TEST(FileGeometry, AnUnknownShapeIsADetectorWithItsMarks) {
  SourceInfo info = eiger_4m();
  info.shape = {100, 200};
  const Detector detector = geometry_of_file(info, "a").detector;
  EXPECT_EQ(detector.name, "Detector");
  EXPECT_EQ(detector.shape, (Shape{100, 200}));
  EXPECT_TRUE(detector.dectris);
}

Geometry generic(double pixel1, double pixel2) {
  return parse_poni("PixelSize1: " + std::to_string(pixel1) + "\nPixelSize2: " + std::to_string(pixel2) +
                        "\nDistance: 0.1\nPoni1: 0.1\nPoni2: 0.1\nRot1: 0\nRot2: 0\nRot3: 0\n",
                    "old.poni");
}

TEST(FileGeometry, AGenericDetectorMarksAsAllThatItCanBe) {
  SourceInfo frames;
  frames.type = PixelType::kI32;
  frames.shape = {1043, 981};
  Geometry geometry = generic(172e-6, 172e-6);
  EXPECT_EQ(adopt_marks(geometry, frames), "Pilatus1M or PilatusCdTe1M");
  EXPECT_TRUE(geometry.detector.dectris);
  EXPECT_EQ(geometry.detector.name, "Detector");
  EXPECT_EQ(geometry.detector.grid, ModuleGrid{}) << "the two have different gaps";
  EXPECT_EQ(adopt_marks(geometry, frames), "") << "once is enough";
}

TEST(FileGeometry, AGenericDetectorOfAnotherKindMarksNothing) {
  SourceInfo frames;
  frames.type = PixelType::kI32;
  const auto marks = [&](Shape shape, double pixel1, double pixel2) {
    frames.shape = shape;
    Geometry geometry = generic(pixel1, pixel2);
    const bool named = !adopt_marks(geometry, frames).empty();
    EXPECT_EQ(named, geometry.detector.dectris);
    return named;
  };
  EXPECT_TRUE(marks({2167, 2070}, 75e-6, 75e-6));
  EXPECT_TRUE(marks({195, 487}, 173e-6, 171e-6)) << "refined";
  EXPECT_FALSE(marks({2167, 2070}, 75e-6, 172e-6)) << "no detector has such pixels";
  EXPECT_FALSE(marks({2168, 2070}, 75e-6, 75e-6)) << "no detector has this shape";
  EXPECT_FALSE(marks({1064, 1030}, 75e-6, 75e-6)) << "Jungfrau1M measures negative values";
  EXPECT_FALSE(marks({256, 256}, 55e-6, 55e-6)) << "Maxipix and Lambda have no marks";
  frames.type = PixelType::kF32;
  EXPECT_FALSE(marks({2167, 2070}, 75e-6, 75e-6)) << "floats were processed";
}

TEST(FileGeometry, ANamedDetectorKeepsItsOwnHabit) {
  SourceInfo frames;
  frames.shape = {1043, 981};
  Geometry geometry = generic(172e-6, 172e-6);
  geometry.detector = find_detector("Jungfrau1M");
  geometry.detector.pixel1 = geometry.detector.pixel2 = 172e-6;
  EXPECT_EQ(adopt_marks(geometry, frames), "");
  EXPECT_FALSE(geometry.detector.dectris);
}

TEST(FileGeometry, ATurnedDetectorNeedsAPoniFile) {
  SourceInfo info = eiger_4m();
  info.place->two_theta = 30;
  EXPECT_THAT(fault_of(info), AllOf(HasSubstr("turned by 30 degrees"), HasSubstr("-p")));
  info.place->two_theta = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(fault_of(info), AllOf(HasSubstr("cannot be read"), HasSubstr("-p")));
  info.place->two_theta = 0.001;
  EXPECT_NO_THROW(geometry_of_file(info, "a_master.h5"));
}

TEST(FileGeometry, WhatIsMissingIsNamed) {
  SourceInfo info = eiger_4m();
  info.place->distance.reset();
  info.place->beam_y.reset();
  EXPECT_THAT(fault_of(info), AllOf(HasSubstr("a_master.h5"), HasSubstr("no distance, beam centre"),
                                    Not(HasSubstr("pixel size")), HasSubstr("-p")));
  info.place.reset();
  EXPECT_THAT(fault_of(info), HasSubstr("a_master.h5 does not state it"));
}

}  // namespace
}  // namespace annulus::testing
