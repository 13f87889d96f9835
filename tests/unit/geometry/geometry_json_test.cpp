#include <annulus/geometry/geometry.hpp>
#include <annulus/geometry/geometry_json.hpp>

#include <gtest/gtest.h>

namespace annulus {
namespace {

using nlohmann::json;

// The sum is hashlib.sha256 of pyFAI's mask as uint8.
TEST(Describe, SumsTheMaskOfADetector) {
  const json expected = json::parse(R"({
    "name": "Pilatus1M", "aliases": ["Pilatus 1M"], "shape": [1043, 981], "pixel1": 0.000172, "pixel2": 0.000172,
    "masked_pixels": 73533, "mask_sha256": "f78bc20a6efe440b3d0e98a83b83e50cf61b102bdcc0c751647769bf5541ac67"})");
  EXPECT_EQ(describe(find_detector("Pilatus1M")), expected);
}

TEST(Describe, TellsAGeometryWithoutWavelengthAndShape) {
  const Geometry geometry = parse_poni(
      "Distance: 1\nPoni1: 2\nPoni2: 3\nRot1: 4\nRot2: 5\nRot3: 6\nPixelSize1: 7\nPixelSize2: 8\n", "text");
  const json expected = json::parse(R"({
    "format": "PONI", "distance": 1.0, "poni1": 2.0, "poni2": 3.0, "rot1": 4.0, "rot2": 5.0, "rot3": 6.0,
    "wavelength": null,
    "detector": {"name": "Detector", "shape": [0, 0], "pixel1": 7.0, "pixel2": 8.0, "masked_pixels": 0,
                 "mask_sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}})");
  EXPECT_EQ(describe(geometry), expected);
}

TEST(Describe, KeepsEveryDigitOfTheWavelength) {
  const Geometry geometry = parse_poni(
      "Detector: Pilatus100k\nDistance: 1\nPoni1: 2\nPoni2: 3\nWavelength: 1.0332016536100021e-10\n", "text");
  EXPECT_NE(describe(geometry).dump().find("1.0332016536100021e-10"), std::string::npos);
}

TEST(Describe, ListsTheWholeCatalogue) {
  const json list = describe_detectors();
  ASSERT_EQ(list.size(), detector_catalogue().size());
  EXPECT_EQ(list.at(0).at("name"), "Pilatus100k");
}

}  // namespace
}  // namespace annulus
