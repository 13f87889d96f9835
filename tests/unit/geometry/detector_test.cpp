#include <annulus/core/error.hpp>
#include <annulus/geometry/detector.hpp>
#include <annulus/geometry/readouts.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace annulus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Facts {
  const char* name;
  Shape shape;
  double pixel1;
  double pixel2;
  long masked;
};

void PrintTo(const Facts& facts, std::ostream* out) { *out << facts.name; }

long masked_pixels(const Mask& mask) { return std::count(mask.pixels.begin(), mask.pixels.end(), 1); }

std::string detector_fault(const std::string& name) {
  try {
    find_detector(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kGeometry);
    return error.what();
  }
  ADD_FAILURE() << name << " was found";
  return {};
}

class KnownDetector : public ::testing::TestWithParam<Facts> {};

// From pyFAI 0.21.3 (2026.05 for Pilatus900k, Pilatus4, Eiger2_250k, Lambda and Jungfrau):
// detector.shape, .pixel1, .pixel2 and .calc_mask().sum().
INSTANTIATE_TEST_SUITE_P(FromPyfai, KnownDetector,
                         ::testing::Values(Facts{"Pilatus100k", {195, 487}, 172e-6, 172e-6, 0},
                                           Facts{"Pilatus200k", {407, 487}, 172e-6, 172e-6, 8279},
                                           Facts{"Pilatus300k", {619, 487}, 172e-6, 172e-6, 16558},
                                           Facts{"Pilatus300kw", {195, 1475}, 172e-6, 172e-6, 2730},
                                           Facts{"Pilatus900k", {619, 1475}, 172e-6, 172e-6, 58340},
                                           Facts{"Pilatus1M", {1043, 981}, 172e-6, 172e-6, 73533},
                                           Facts{"Pilatus2M", {1679, 1475}, 172e-6, 172e-6, 197365},
                                           Facts{"Pilatus6M", {2527, 2463}, 172e-6, 172e-6, 526101},
                                           Facts{"PilatusCdTe300k", {619, 487}, 172e-6, 172e-6, 18313},
                                           Facts{"PilatusCdTe300kw", {195, 1475}, 172e-6, 172e-6, 4485},
                                           Facts{"PilatusCdTe900kw", {195, 4439}, 172e-6, 172e-6, 16185},
                                           Facts{"PilatusCdTe1M", {1043, 981}, 172e-6, 172e-6, 79383},
                                           Facts{"PilatusCdTe2M", {1679, 1475}, 172e-6, 172e-6, 211405},
                                           Facts{"Pilatus4_4M", {2180, 2073}, 150e-6, 150e-6, 333060},
                                           Facts{"Pilatus4_CdTe_4M", {2180, 2073}, 150e-6, 150e-6, 341220},
                                           Facts{"Eiger500k", {514, 1030}, 75e-6, 75e-6, 0},
                                           Facts{"Eiger1M", {1065, 1030}, 75e-6, 75e-6, 38110},
                                           Facts{"Eiger4M", {2167, 2070}, 75e-6, 75e-6, 250330},
                                           Facts{"Eiger9M", {3269, 3110}, 75e-6, 75e-6, 637030},
                                           Facts{"Eiger16M", {4371, 4150}, 75e-6, 75e-6, 1198210},
                                           Facts{"Eiger2_250k", {512, 512}, 75e-6, 75e-6, 0},
                                           Facts{"Eiger2_500k", {512, 1028}, 75e-6, 75e-6, 0},
                                           Facts{"Eiger2_1M", {1062, 1028}, 75e-6, 75e-6, 39064},
                                           Facts{"Eiger2_1MW", {512, 2068}, 75e-6, 75e-6, 6144},
                                           Facts{"Eiger2_2MW", {512, 4148}, 75e-6, 75e-6, 18432},
                                           Facts{"Eiger2_4M", {2162, 2068}, 75e-6, 75e-6, 260328},
                                           Facts{"Eiger2_9M", {3262, 3108}, 75e-6, 75e-6, 664248},
                                           Facts{"Eiger2_16M", {4362, 4148}, 75e-6, 75e-6, 1250824},
                                           Facts{"Eiger2CdTe_500k", {512, 1028}, 75e-6, 75e-6, 1024},
                                           Facts{"Eiger2CdTe_4M", {2162, 2068}, 75e-6, 75e-6, 268520},
                                           Facts{"Eiger2CdTe_16M", {4362, 4148}, 75e-6, 75e-6, 1283592},
                                           Facts{"Maxipix5x1", {256, 1296}, 55e-6, 55e-6, 4096},
                                           Facts{"Lambda750k", {516, 1556}, 55e-6, 55e-6, 16464},
                                           Facts{"Jungfrau4M", {2164, 2068}, 75e-6, 75e-6, 239792},
                                           Facts{"Mar345", {3450, 3450}, 100e-6, 100e-6, 2554284},
                                           Facts{"Rayonix133", {2048, 2048}, 64e-6, 64e-6, 900016},
                                           Facts{"RayonixMx225", {3072, 3072}, 73.242e-6, 73.242e-6, 0},
                                           Facts{"Perkin", {2048, 2048}, 200e-6, 200e-6, 0},
                                           Facts{"Pixium", {955, 1240}, 308e-6, 308e-6, 0},
                                           Facts{"ADSC_Q270", {4168, 4168}, 64.8e-6, 64.8e-6, 0},
                                           Facts{"Apex2", {1024, 1024}, 120e-6, 120e-6, 0},
                                           Facts{"Lambda9M", {3868, 3227}, 55e-6, 55e-6, 0},
                                           Facts{"Fairchild", {4096, 4096}, 15e-6, 15e-6, 0},
                                           Facts{"Mythen", {1, 1280}, 8e-3, 50e-6, 0}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(KnownDetector, HasPyfaisShapePixelsAndGaps) {
  const Facts& facts = GetParam();
  const Detector& detector = find_detector(facts.name);
  EXPECT_EQ(detector.name, facts.name);
  EXPECT_EQ(to_string(detector.shape), to_string(facts.shape));
  EXPECT_EQ(detector.pixel1, facts.pixel1);
  EXPECT_EQ(detector.pixel2, facts.pixel2);
  EXPECT_EQ(masked_pixels(detector.gap_mask()), facts.masked);
}

using Runs = std::vector<std::pair<int, int>>;

// First and last of the rows (or columns) that are masked from end to end.
Runs masked_lines(const Mask& mask, bool rows) {
  Runs runs;
  const std::uint32_t lines = rows ? mask.shape.rows : mask.shape.cols;
  const std::uint32_t length = rows ? mask.shape.cols : mask.shape.rows;
  for (std::uint32_t line = 0; line < lines; ++line) {
    bool all = true;
    for (std::uint32_t i = 0; i < length && all; ++i) all = (rows ? mask.at(line, i) : mask.at(i, line)) == 1;
    if (!all) continue;
    const int index = static_cast<int>(line);
    if (!runs.empty() && runs.back().second == index - 1) {
      runs.back().second = index;
    } else {
      runs.emplace_back(index, index);
    }
  }
  return runs;
}

TEST(GapMask, LiesBetweenTheModulesOfAnEiger) {
  const Mask mask = find_detector("Eiger4M").gap_mask();
  EXPECT_EQ(masked_lines(mask, true), (Runs{{514, 550}, {1065, 1101}, {1616, 1652}}));
  EXPECT_EQ(masked_lines(mask, false), (Runs{{1030, 1039}}));
}

TEST(GapMask, LiesBetweenTheModulesOfAnEiger2) {
  const Mask mask = find_detector("Eiger2 CdTe 1M").gap_mask();
  EXPECT_EQ(masked_lines(mask, true), (Runs{{512, 549}}));
  EXPECT_EQ(masked_lines(mask, false), (Runs{{513, 514}}));
}

TEST(GapMask, SplitsTheModulesOfAPilatusCdTe) {
  const Mask mask = find_detector("Pilatus CdTe 2M").gap_mask();
  EXPECT_EQ(masked_lines(mask, true),
            (Runs{{195, 211}, {407, 423}, {619, 635}, {831, 847}, {1043, 1059}, {1255, 1271}, {1467, 1483}}));
  EXPECT_EQ(masked_lines(mask, false), (Runs{{242, 244}, {487, 493}, {736, 738}, {981, 987}, {1230, 1232}}));
}

TEST(GapMask, LeavesTheDiscOfARoundDetector) {
  const Mask mask = find_detector("Mar345").gap_mask();
  const std::map<std::uint32_t, std::uint32_t> first_of_row = {{0, 1683}, {1, 1653}, {10, 1535},  {500, 510},
                                                               {1724, 0}, {1725, 0}, {3449, 1683}};
  for (const auto& [row, first] : first_of_row) {
    if (first > 0) {
      EXPECT_EQ(mask.at(row, first - 1), 1) << row;
    }
    EXPECT_EQ(mask.at(row, first), 0) << row;
    EXPECT_EQ(mask.at(row, 3449 - first), 0) << row;
  }
}

TEST(GapMask, IsEmptyForADetectorWithoutShape) { EXPECT_TRUE(Detector{}.gap_mask().pixels.empty()); }

TEST(FindDetector, IgnoresCaseBlanksUnderscoresAndHyphens) {
  for (const char* name : {"Pilatus2M", "pilatus 2m", "PILATUS_2M", "pilatus-2m"}) {
    EXPECT_EQ(find_detector(name).name, "Pilatus2M") << name;
  }
  EXPECT_EQ(find_detector("eiger2_1m-w").name, "Eiger2_1MW");
  EXPECT_EQ(find_detector("MAR 165").name, "RayonixSx165");
  EXPECT_EQ(find_detector("Perkin Elmer").name, "Perkin");
}

TEST(FindDetector, SuggestsTheNearestNamesAndTheGenericDetector) {
  EXPECT_THAT(detector_fault("Pilatus2N"),
              AllOf(HasSubstr("'Pilatus2N'"), HasSubstr("Pilatus2M"), HasSubstr("`Detector`")));
  EXPECT_THAT(detector_fault("Eigr16M"), HasSubstr("Eiger16M"));
}

TEST(FindDetector, SaysWhyADetectorIsNotSupported) {
  EXPECT_THAT(detector_fault("Aarhus"), HasSubstr("not flat"));
  EXPECT_THAT(detector_fault("Xpad_flat"), HasSubstr("regular"));
  EXPECT_THAT(detector_fault("Pixirad-1"), HasSubstr("regular"));
  EXPECT_THAT(detector_fault("Jungfrau 500k"), HasSubstr("regular"));
  EXPECT_THAT(detector_fault(" "), HasSubstr("empty"));
}

TEST(FindDetector, ShowsWhateverBytesTheNameHas) {
  EXPECT_THAT(detector_fault("\xff\n"), HasSubstr("'\\xff\\x0a'"));
  EXPECT_LT(detector_fault(std::string(1'000'000, 'x')).size(), 400u);
}

TEST(DetectorCatalogue, HasNoNameTwice) {
  std::map<std::string, std::string> owners;
  const auto claim = [&](const std::string& name, const std::string& owner) {
    EXPECT_EQ(find_detector(name).name, owner) << name;
    const auto [place, fresh] = owners.emplace(name, owner);
    EXPECT_EQ(place->second, owner) << name;
  };
  for (const Detector& detector : detector_catalogue()) {
    claim(detector.name, detector.name);
    for (const std::string& alias : detector.aliases) claim(alias, detector.name);
  }
}

TEST(DetectorCatalogue, MarksThePilatusAndEigerFamiliesAsDectris) {
  for (const Detector& detector : detector_catalogue()) {
    const bool expected = detector.name.starts_with("Pilatus") || detector.name.starts_with("Eiger");
    EXPECT_EQ(detector.dectris, expected) << detector.name;
  }
}

Shape binned_shape(const char* name, double pixel1, double pixel2) {
  const Detector detector = with_pixel_sizes(find_detector(name), pixel1, pixel2);
  EXPECT_EQ(detector.pixel1, pixel1);
  EXPECT_EQ(detector.pixel2, pixel2);
  return detector.shape;
}

TEST(WithPixelSizes, BinningDecidesTheShape) {
  EXPECT_EQ(binned_shape("Perkin", 100e-6, 100e-6), (Shape{4096, 4096}));
  EXPECT_EQ(binned_shape("Perkin", 400e-6, 200e-6), (Shape{1024, 2048}));
  EXPECT_EQ(binned_shape("Pixium", 296e-6, 296e-6), (Shape{955, 1240}));
  EXPECT_EQ(binned_shape("Mar345", 150e-6, 150e-6), (Shape{2300, 2300}));
  EXPECT_EQ(binned_shape("RayonixLx255", 442.7083e-6, 44.2708e-6), (Shape{192, 5760}));
  EXPECT_EQ(binned_shape("ADSC_Q315", 102.6e-6, 102.6e-6), (Shape{3072, 3072}));
  EXPECT_EQ(binned_shape("RayonixSx165", 118.616e-6, 118.616e-6), (Shape{1365, 1365}));
  EXPECT_EQ(binned_shape("ADSC_Q4", 51e-6, 51e-6), (Shape{2304, 2304}));
  EXPECT_EQ(binned_shape("ADSC_Q270", 51e-6, 51e-6), (Shape{4168, 4168}));
  EXPECT_EQ(binned_shape("Apex2", 60e-6, 60e-6), (Shape{1024, 1024}));
  EXPECT_EQ(binned_shape("Apex2", 120e-6, 120e-6), (Shape{1024, 1024}));
}

TEST(AlsoDelivers, ShapesOfOtherReleasesAndOfRealFilesForTheSameSize) {
  const Detector apex = find_detector("Apex2");
  EXPECT_TRUE(also_delivers(apex, {512, 512}));
  EXPECT_FALSE(also_delivers(apex, {256, 256}));  // with pixels of twice the size
  const Detector mar = with_pixel_sizes(find_detector("MAR 165"), 118.616e-6, 118.616e-6);
  EXPECT_TRUE(also_delivers(mar, {1364, 1364}));
  EXPECT_FALSE(also_delivers(mar, {1363, 1363}));
  EXPECT_FALSE(also_delivers(find_detector("Pilatus1M"), {619, 487}));
  EXPECT_FALSE(also_delivers(Detector{}, {512, 512}));
}

TEST(WithPixelSizes, RefusesSizesTheDetectorCannotHave) {
  EXPECT_THROW(with_pixel_sizes(find_detector("Pilatus1M"), 344e-6, 344e-6), Error);
  EXPECT_THROW(with_pixel_sizes(find_detector("Pilatus1M"), 172e-6, 75e-6), Error);
  EXPECT_THROW(with_pixel_sizes(find_detector("Perkin"), 150e-6, 150e-6), Error);
  EXPECT_THROW(with_pixel_sizes(find_detector("RayonixMx225"), 55e-6, 55e-6), Error);
  EXPECT_THROW(with_pixel_sizes(find_detector("Mythen"), 16e-3, 50e-6), Error);
}

}  // namespace
}  // namespace annulus
