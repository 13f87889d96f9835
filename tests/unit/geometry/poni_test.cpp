#include <annulus/geometry/geometry.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace annulus {
namespace {

const std::string kBody = "Distance: 0.25\nPoni1: 0.1\nPoni2: -0.2\nRot1: 0.01\nRot2: -0.02\nRot3: 0.03\n";

std::string version2(const std::string& detector, const std::string& config) {
  return "poni_version: 2\nDetector: " + detector + "\nDetector_config: " + config + "\n" + kBody;
}

Geometry parse(const std::string& text) { return parse_poni(text, "test.poni"); }

TEST(ParsePoni, ReadsVersion1WithPixelSizesOnly) {
  const Geometry geometry = parse(
      "# Nota: C-Order, 1 refers to the Y axis, 2 to the X axis \n"
      "PixelSize1: 0.0001\nPixelSize2: 0.0002\nDistance: 0.222549826201\nPoni1: 0.161137340974\n"
      "Poni2: 0.172625538874\nRot1: 0.00164880041469\nRot2: 0.0438631777747\nRot3: -1.43412739468e-08\n"
      "SplineFile: None\nWavelength:0.3738e-10 ");
  EXPECT_EQ(geometry.distance, 0.222549826201);
  EXPECT_EQ(geometry.poni1, 0.161137340974);
  EXPECT_EQ(geometry.poni2, 0.172625538874);
  EXPECT_EQ(geometry.rot1, 0.00164880041469);
  EXPECT_EQ(geometry.rot2, 0.0438631777747);
  EXPECT_EQ(geometry.rot3, -1.43412739468e-08);
  EXPECT_EQ(geometry.wavelength, 0.3738e-10);
  EXPECT_EQ(geometry.detector.name, "Detector");
  EXPECT_EQ(geometry.detector.shape, Shape{});
  EXPECT_EQ(geometry.detector.pixel1, 0.0001);
  EXPECT_EQ(geometry.detector.pixel2, 0.0002);
}

TEST(ParsePoni, ReadsVersion2WithANamedDetector) {
  const Geometry geometry = parse(version2("Eiger4M", "{}"));
  EXPECT_EQ(geometry.detector.name, "Eiger4M");
  EXPECT_EQ(geometry.detector.shape, (Shape{2167, 2070}));
  EXPECT_TRUE(geometry.detector.dectris);
  EXPECT_FALSE(geometry.wavelength.has_value());
}

TEST(ParsePoni, ReadsVersion2WithAGenericDetector) {
  const Detector open =
      parse(version2("Detector", R"({"pixel1": 1.0e-4, "pixel2": 2e-4, "max_shape": null})")).detector;
  EXPECT_EQ(open.name, "Detector");
  EXPECT_EQ(open.shape, Shape{});
  EXPECT_EQ(open.pixel1, 1e-4);
  EXPECT_EQ(open.pixel2, 2e-4);
  EXPECT_FALSE(open.dectris);
  const Detector shaped =
      parse(version2("detector", R"({"pixel1": 1e-4, "pixel2": 1e-4, "max_shape": [1000, 1060]})")).detector;
  EXPECT_EQ(shaped.shape, (Shape{1000, 1060}));
}

TEST(ParsePoni, ReadsVersions2Point1And3InTheDefaultOrientation) {
  const std::string config =
      R"({"pixel1": 0.000172, "pixel2": 0.000172, "orientation": 3, "sensor": {"material": "Si"}})";
  for (const std::string version : {"2.1", "3", "3.0"}) {
    const Geometry geometry =
        parse("poni_version: " + version + "\nDetector: Pilatus100k\nDetector_config: " + config +
              "\nParallax: False\n" + kBody);
    EXPECT_EQ(geometry.detector.shape, (Shape{195, 487})) << version;
  }
}

TEST(ParsePoni, AcceptsAnyLineEnding) {
  const std::string unix_text =
      "Detector: Pilatus300kw\nPixelSize1: 0.000172\nPixelSize2: 0.000172\n" + kBody;
  for (const std::string ending : {"\r\n", "\r"}) {
    std::string text = "\xEF\xBB\xBF";
    for (const char c : unix_text) text += c == '\n' ? ending : std::string(1, c);
    const Geometry geometry = parse(text);
    EXPECT_EQ(geometry.detector.name, "Pilatus300kw");
    EXPECT_EQ(geometry.rot3, 0.03);
  }
}

TEST(ParsePoni, TakesTheLastOfAppendedCalibrations) {
  const Geometry geometry =
      parse("Detector: Pilatus1M\n" + kBody + "# again\nDetector: Pilatus2M\nDISTANCE :  +7e-1\n");
  EXPECT_EQ(geometry.detector.name, "Pilatus2M");
  EXPECT_EQ(geometry.distance, 0.7);
  EXPECT_EQ(geometry.poni1, 0.1);
}

TEST(ParsePoni, LetsVersion2SupersedeWhatVersion1Said) {
  const Geometry geometry = parse("PixelSize1: 1e-4\nPixelSize2: 1e-4\nSplineFile: old.spline\n" + kBody +
                                  version2("Eiger1M", "{}"));
  EXPECT_EQ(geometry.detector.name, "Eiger1M");
  EXPECT_EQ(geometry.detector.pixel1, 75e-6);
}

TEST(ParsePoni, IgnoresCommentsUnknownKeysAndLinesWithoutColon) {
  EXPECT_EQ(parse("# Distance: 9\nCalibrant: LaB6\nnonsense\n\nDetector: Eiger1M\n" + kBody).distance, 0.25);
}

TEST(ParsePoni, TakesRotationsAsZeroWhereAbsentAndDistAsDistance) {
  const Geometry geometry = parse("Detector: Eiger1M\ndist: 2\nPoni1: 0\nPoni2: 0\nWavelength: None\n");
  EXPECT_EQ(geometry.distance, 2);
  EXPECT_EQ(geometry.rot1, 0);
  EXPECT_FALSE(geometry.wavelength.has_value());
}

TEST(ParsePoni, LetsModularDetectorsHaveOtherModules) {
  const Detector detector =
      parse(version2("PilatusCdTe1M", R"({"module_size": [195, 100], "max_shape": [500, 981]})")).detector;
  EXPECT_EQ(detector.shape, (Shape{500, 981}));
  EXPECT_EQ(detector.grid.module, (Shape{195, 100}));
}

TEST(ParsePoni, LetsPixelSizesDecideTheBinning) {
  EXPECT_EQ(parse(version2("Perkin", R"({"pixel1": 4e-4, "pixel2": 4e-4})")).detector.shape,
            (Shape{1024, 1024}));
  EXPECT_EQ(parse("Detector: MAR 345\nPixelSize1: 0.00015\nPixelSize2: 0.00015\n" + kBody).detector.shape,
            (Shape{2300, 2300}));
}

TEST(ParsePoni, TakesAFrelonWithPixelSizesAsGeneric) {
  const Detector detector = parse("Detector: FReLoN\nPixelSize1: 4e-5\nPixelSize2: 4e-5\n" + kBody).detector;
  EXPECT_EQ(detector.name, "Detector");
  EXPECT_EQ(detector.shape, Shape{});
}

TEST(ReadPoni, ReadsARealFileOfThreeCalibrationsToItsLast) {
  const char* folder = std::getenv("ANNULUS_SHARED_DATA");
  const std::filesystem::path data = folder != nullptr ? folder : ANNULUS_SHARED_DATA_DIR;
  if (!std::filesystem::is_directory(data))
    GTEST_SKIP() << "no folder " << data << ": set ANNULUS_SHARED_DATA";
  // As pyFAI 0.21.3 loads it.
  const Geometry geometry = read_poni(data / "lab6-tilted" / "b_toney_lab6_th3_scan1_0008.poni");
  EXPECT_EQ(geometry.distance, 0.9084140734515469);
  EXPECT_EQ(geometry.poni1, 0.189145477868554);
  EXPECT_EQ(geometry.poni2, 0.2398139957275756);
  EXPECT_EQ(geometry.rot1, 0.08517720750953212);
  EXPECT_EQ(geometry.rot2, 0.004888266766587224);
  EXPECT_EQ(geometry.rot3, 4.825726600350499e-06);
  EXPECT_EQ(geometry.wavelength, 8.856e-11);
  EXPECT_EQ(geometry.detector.name, "Pilatus300kw");
}

}  // namespace
}  // namespace annulus
