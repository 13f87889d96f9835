#include <annulus/core/error.hpp>
#include <annulus/geometry/geometry.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace annulus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kPlainBody = "Distance: 0.25\nPoni1: 0.1\nPoni2: -0.2\n";

std::string version2_file(const std::string& detector, const std::string& config) {
  return "poni_version: 2\nDetector: " + detector + "\nDetector_config: " + config + "\n" + kPlainBody;
}

std::string poni_fault(const std::string& text) {
  try {
    parse_poni(text, "test.poni");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kGeometry);
    EXPECT_THAT(error.where(), ::testing::StartsWith("test.poni"));
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

TEST(ParsePoniFaults, NamesTheMissingKey) {
  EXPECT_THAT(poni_fault(""), HasSubstr("Distance is missing"));
  EXPECT_THAT(poni_fault("Detector: Eiger1M\nPoni1: 1\nPoni2: 1\n"), HasSubstr("Distance is missing"));
  EXPECT_THAT(poni_fault("Detector: Eiger1M\nDistance: 1\nPoni2: 1\n"), HasSubstr("Poni1 is missing"));
  EXPECT_THAT(poni_fault("Detector: Eiger1M\nDistance: 1\nPoni1: 1\n"), HasSubstr("Poni2 is missing"));
  EXPECT_THAT(poni_fault(kPlainBody), HasSubstr("PixelSize1"));
  EXPECT_THAT(poni_fault(kPlainBody + "PixelSize1: 1e-4\n"), HasSubstr("PixelSize2 is missing"));
  EXPECT_THAT(poni_fault(kPlainBody + "PixelSize2: 1e-4\n"), HasSubstr("PixelSize1 is missing"));
  EXPECT_THAT(poni_fault("poni_version: 2\n" + kPlainBody), HasSubstr("Detector is missing"));
  EXPECT_THAT(poni_fault(version2_file("Detector", R"({"pixel1": 1e-4})")), HasSubstr("pixel2 is missing"));
  EXPECT_THAT(poni_fault(version2_file("Detector", "{}")), HasSubstr("pixel1 is missing"));
}

TEST(ParsePoniFaults, NamesLineAndKeyOfABadNumber) {
  for (const std::string value :
       {"abc", "", "0.1 m", "1,5", "nan", "inf", "-inf", "0x10", "1e999", "1 2", "--1", "+-1"}) {
    EXPECT_THAT(poni_fault("Detector: Eiger1M\n" + kPlainBody + "# comment\nRot1: " + value + "\n"),
                AllOf(HasSubstr("line 6"), HasSubstr("rot1"), HasSubstr("'" + value + "'")));
  }
}

TEST(ParsePoniFaults, NoticesOtherUnits) {
  const auto with = [](const std::string& line) { return "Detector: Eiger1M\n" + kPlainBody + line + "\n"; };
  EXPECT_THAT(poni_fault(with("Wavelength: 0.6888")),
              AllOf(HasSubstr("line 5, wavelength"), HasSubstr("0.6888 m"), HasSubstr("1 Å is 1e-10")));
  EXPECT_THAT(
      poni_fault(with("Rot2: -90")),
      AllOf(HasSubstr("line 5, rot2"), HasSubstr("-90 is more than a full turn"), HasSubstr("radians")));
  for (const char* line : {"Wavelength: 1.35e-8", "Wavelength: 1.9e-12", "Rot1: 6.28", "Rot3: -3.1416"})
    EXPECT_NO_THROW(parse_poni(with(line), "test.poni")) << line;
}

TEST(ParsePoniFaults, RefusesLengthsThatAreNotPositive) {
  for (const std::string value : {"0", "-1", "-0.0"}) {
    EXPECT_THAT(poni_fault("Detector: Eiger1M\n" + kPlainBody + "Distance: " + value + "\n"),
                AllOf(HasSubstr("line 5, distance"), HasSubstr("not positive")));
    EXPECT_THAT(poni_fault("Detector: Eiger1M\n" + kPlainBody + "Wavelength: " + value + "\n"),
                AllOf(HasSubstr("wavelength"), HasSubstr("not positive")));
    EXPECT_THAT(poni_fault(kPlainBody + "PixelSize1: 1\nPixelSize2: " + value + "\n"),
                AllOf(HasSubstr("pixelsize2"), HasSubstr("not positive")));
    EXPECT_THAT(poni_fault(version2_file("Detector", R"({"pixel2": 1, "pixel1": )" + value + "}")),
                AllOf(HasSubstr("pixel1"), HasSubstr("positive")));
  }
}

TEST(ParsePoniFaults, RefusesDistortion) {
  const auto refused = AllOf(HasSubstr("distortion"), HasSubstr("not supported"));
  EXPECT_THAT(poni_fault(kPlainBody + "PixelSize1: 1e-4\nPixelSize2: 1e-4\nSplineFile: halfccd.spline\n"),
              refused);
  EXPECT_THAT(poni_fault(version2_file("FReLoN", R"({"splineFile": "frelon.spline"})")), refused);
  EXPECT_THAT(
      poni_fault(version2_file("Pilatus1M", R"({"x_offset_file": "x.cbf", "y_offset_file": "y.cbf"})")),
      refused);
}

TEST(ParsePoniFaults, RefusesOtherOrientations) {
  for (const std::string orientation : {"1", "2", "4", "8", "-3", "\"3\"", "3.5", "true", "[3]"}) {
    EXPECT_THAT(poni_fault(version2_file("Pilatus1M", "{\"orientation\": " + orientation + "}")),
                AllOf(HasSubstr("orientation"), HasSubstr("not supported")));
  }
}

TEST(ParsePoniFaults, RefusesParallaxAndUnknownVersions) {
  EXPECT_THAT(poni_fault("Parallax: True\n" + version2_file("Pilatus1M", "{}")), HasSubstr("parallax"));
  for (const std::string version : {"4", "0", "-1", "2024"}) {
    EXPECT_THAT(poni_fault(version2_file("Pilatus1M", "{}") + "poni_version: " + version + "\n"),
                HasSubstr("version"));
  }
}

TEST(ParsePoniFaults, RefusesDetectorFiles) {
  for (const std::string name : {"detector.h5", "/data/Pilatus.nxs", "NexusDetector", "sub\\my.hdf5"}) {
    EXPECT_THAT(poni_fault("Detector: " + name + "\n" + kPlainBody), HasSubstr("detector file")) << name;
  }
}

TEST(ParsePoniFaults, NamesTheLineOfAnUnknownDetector) {
  EXPECT_THAT(poni_fault(kPlainBody + "Detector: Pilatus3M\n"),
              AllOf(HasSubstr("line 4, detector"), HasSubstr("Pilatus2M")));
  EXPECT_THAT(poni_fault(kPlainBody + "Detector: Cirpad\n"), HasSubstr("not flat"));
  EXPECT_THAT(poni_fault(kPlainBody + "Detector:\n"), HasSubstr("empty"));
}

TEST(ParsePoniFaults, RefusesPixelSizesThatContradictTheDetector) {
  EXPECT_THAT(poni_fault("Detector: Pilatus1M\nPixelSize1: 7.5e-5\nPixelSize2: 7.5e-5\n" + kPlainBody),
              AllOf(HasSubstr("line 2, pixelsize1"), HasSubstr("Pilatus1M"), HasSubstr("0.000172")));
  EXPECT_THAT(poni_fault(version2_file("Eiger4M", R"({"pixel1": 1.5e-4, "pixel2": 1.5e-4})")),
              HasSubstr("Eiger4M"));
}

TEST(ParsePoniFaults, RefusesPixelSizesAppendedBehindAnotherConfiguration) {
  EXPECT_THAT(poni_fault(version2_file("Detector", R"({"pixel1": 1e-4, "pixel2": 1e-4})") +
                         "PixelSize1: 2e-4\nPixelSize2: 2e-4\n"),
              AllOf(HasSubstr("contradicts"), HasSubstr("line 3")));
}

TEST(ParsePoniFaults, RefusesAConfigurationThatIsNoObjectOrHoldsTheUnknown) {
  EXPECT_THAT(poni_fault(version2_file("Eiger1M", "{")), HasSubstr("not JSON"));
  EXPECT_THAT(poni_fault(version2_file("Eiger1M", "")), HasSubstr("not JSON"));
  EXPECT_THAT(poni_fault(version2_file("Eiger1M", "[1]")), HasSubstr("not a JSON object"));
  EXPECT_THAT(poni_fault(version2_file("Eiger1M", R"({"tilt": 1})")), HasSubstr("'tilt'"));
  EXPECT_THAT(poni_fault(version2_file("Detector", R"({"pixel1": "1e-4", "pixel2": 1e-4})")),
              HasSubstr("pixel1"));
  EXPECT_THAT(poni_fault(version2_file("Detector", R"({"pixel1": 1e999, "pixel2": 1e-4})")),
              HasSubstr("line 3"));
}

TEST(ParsePoniFaults, SurvivesBracketsWithoutEnd) {
  const std::size_t depth = 1'000'000;
  const std::string nested = std::string(depth, '[') + std::string(depth, ']');
  EXPECT_THAT(poni_fault(version2_file("Detector", "{\"max_shape\": " + nested + "}")),
              HasSubstr("too long"));
  const std::string shallower = std::string(2000, '[') + std::string(2000, ']');
  EXPECT_THAT(poni_fault(version2_file("Detector", "{\"max_shape\": " + shallower + "}")),
              HasSubstr("max_shape"));
}

TEST(ParsePoniFaults, RefusesImpossibleShapes) {
  for (const std::string shape :
       {"[0, 5]", "[5]", "[1, 2, 3]", "[-1, 5]", "[1.5, 2]", "[200000, 1]", "[131072, 131072]", "\"5x5\"",
        "[18446744073709551615, 18446744073709551615]", "[1e3, 1e3]"}) {
    EXPECT_THAT(
        poni_fault(version2_file("Detector", R"({"pixel1": 1, "pixel2": 1, "max_shape": )" + shape + "}")),
        HasSubstr("max_shape"))
        << shape;
  }
  EXPECT_THAT(poni_fault(version2_file("Perkin", R"({"max_shape": [100, 100]})")), HasSubstr("2048 x 2048"));
  EXPECT_THAT(poni_fault(version2_file("Perkin", R"({"module_size": [100, 100]})")), HasSubstr("no modules"));
}

TEST(ReadPoni, SaysWhyAFileCannotBeRead) {
  const auto message = [](const std::filesystem::path& path) -> std::string {
    try {
      read_poni(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kGeometry);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message("no such file.poni"),
              AllOf(HasSubstr("no such file.poni"), HasSubstr("cannot be read: no such file")));
  EXPECT_THAT(message(std::filesystem::temp_directory_path()), HasSubstr("directory"));
  EXPECT_THAT(message("/dev/zero"), HasSubstr("not an ordinary file"));
}

}  // namespace
}  // namespace annulus
