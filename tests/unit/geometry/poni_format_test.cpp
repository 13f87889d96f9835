#include <annulus/core/error.hpp>
#include <annulus/geometry/geometry.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

namespace annulus {
namespace {

Geometry some_geometry(Detector detector) {
  Geometry geometry;
  geometry.distance = std::nextafter(0.1, 1.0);
  geometry.poni1 = -1.0 / 3;
  geometry.poni2 = 1e-300;
  geometry.rot1 = 0.30000000000000004;
  geometry.rot2 = -0.0;
  geometry.rot3 = 5e-324;
  geometry.wavelength = 1.0332016536100021e-10;
  geometry.detector = std::move(detector);
  return geometry;
}

void expect_same_place(const Geometry& a, const Geometry& b) {
  EXPECT_EQ(a.distance, b.distance);
  EXPECT_EQ(a.poni1, b.poni1);
  EXPECT_EQ(a.poni2, b.poni2);
  EXPECT_EQ(a.rot1, b.rot1);
  EXPECT_EQ(a.rot2, b.rot2);
  EXPECT_EQ(a.rot3, b.rot3);
  EXPECT_EQ(a.wavelength, b.wavelength);
  EXPECT_EQ(a.detector.pixel1, b.detector.pixel1);
  EXPECT_EQ(a.detector.pixel2, b.detector.pixel2);
  EXPECT_EQ(a.detector.shape, b.detector.shape);
  EXPECT_EQ(a.detector.gap_mask().pixels == b.detector.gap_mask().pixels, true);
}

TEST(FormatPoni, WritesTheTextPyfaiReads) {
  Geometry geometry;
  geometry.distance = 0.25;
  geometry.poni1 = 0.1;
  geometry.rot1 = -1e-05;
  geometry.detector = find_detector("Eiger1M");
  EXPECT_EQ(
      format_poni(geometry),
      "# Written by Annulus. Lengths in metres, angles in radians; 1 is the slow axis, 2 the fast axis.\n"
      "poni_version: 2\n"
      "Detector: Eiger1M\n"
      "Detector_config: {\"pixel1\": 7.5e-05, \"pixel2\": 7.5e-05}\n"
      "Distance: 0.25\nPoni1: 0.1\nPoni2: 0\nRot1: -1e-05\nRot2: 0\nRot3: 0\n");
  const std::string oriented = format_poni(geometry, PoniVersion::k2_1);
  EXPECT_NE(oriented.find("poni_version: 2.1\n"), std::string::npos);
  EXPECT_NE(oriented.find(", \"orientation\": 3}\n"), std::string::npos);
}

TEST(FormatPoni, ReadsBackToTheSameDoublesForEveryDetector) {
  for (const Detector& detector : detector_catalogue()) {
    if (detector.shape.size() > 5'000'000) continue;
    SCOPED_TRACE(detector.name);
    const Geometry geometry = some_geometry(detector);
    expect_same_place(parse_poni(format_poni(geometry), "again"), geometry);
    expect_same_place(parse_poni(format_poni(geometry, PoniVersion::k2_1), "again"), geometry);
  }
}

TEST(FormatPoni, KeepsGenericBinnedAndUnusualDetectors) {
  Detector generic;
  generic.name = "simulated";
  generic.pixel1 = 1e-4;
  generic.pixel2 = 1.0 / 7000;
  const Detector open = generic;
  generic.shape = {30, 40};
  Detector fewer = find_detector("Eiger4M");
  fewer.shape = {1065, 2070};
  fewer.grid.module = {514, 500};
  const Detector binned = with_pixel_sizes(find_detector("Mar345"), 150e-6, 150e-6);
  for (const Detector& detector : {generic, open, fewer, binned}) {
    SCOPED_TRACE(detector.name);
    const Geometry geometry = some_geometry(detector);
    expect_same_place(parse_poni(format_poni(geometry), "again"), geometry);
  }
}

TEST(FormatPoni, RefusesWhatNoFileCanHold) {
  Geometry geometry = some_geometry(find_detector("Eiger1M"));
  geometry.rot1 = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(format_poni(geometry), Error);
  geometry.rot1 = 0;
  geometry.distance = 0;
  EXPECT_THROW(format_poni(geometry), Error);
  geometry.distance = 1;
  EXPECT_NO_THROW(format_poni(geometry));
  geometry.detector.name = "of my own";
  EXPECT_THROW(format_poni(geometry), Error);
}

TEST(WritePoni, WritesAFileThatReadsBack) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / "annulus_write_poni_test.poni";
  const Geometry geometry = some_geometry(find_detector("Pilatus1M"));
  write_poni(path, geometry);
  expect_same_place(read_poni(path), geometry);
  std::filesystem::remove(path);
}

TEST(WritePoni, SaysWhenTheFileCannotBeWritten) {
  try {
    write_poni("no such folder/x.poni", some_geometry(find_detector("Pilatus1M")));
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutput);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("no such folder/x.poni"));
  }
}

}  // namespace
}  // namespace annulus
