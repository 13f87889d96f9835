#include <annulus/engine/plausibility.hpp>

#include <gmock/gmock.h>

namespace annulus::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A good run: a Pilatus 1M with the beam in its middle, whose header agrees.
struct Input {
  Geometry geometry;
  SourceInfo frames;
  IntegrationOptions options;
  PixelMaps maps;

  Input() {
    geometry.distance = 0.2;
    geometry.poni1 = 0.09;
    geometry.poni2 = 0.085;
    geometry.wavelength = 1e-10;
    geometry.detector = find_detector("Pilatus1M");
    geometry.source = "a.poni";
    frames.shape = geometry.detector.shape;
    frames.wavelength = 1.001e-10;
    frames.header = {{"Detector_distance", "0.21000 m"}, {"Pixel_size", "172e-6 m x 172e-6 m"}};
    maps.mask_name = "mask.edf";
  }

  void set_mask(std::uint8_t where_true, auto&& is_true) {
    maps.mask = Mask{frames.shape, std::vector<std::uint8_t>(frames.shape.size(), 0)};
    for (std::uint32_t row = 0; row < frames.shape.rows; ++row) {
      for (std::uint32_t col = 0; col < frames.shape.cols; ++col)
        maps.mask->at(row, col) = is_true(row, col) ? where_true : static_cast<std::uint8_t>(1 - where_true);
    }
  }

  void make_generic() {
    const Detector named = geometry.detector;
    geometry.detector = {};
    geometry.detector.name = "Detector";
    geometry.detector.pixel1 = named.pixel1;
    geometry.detector.pixel2 = named.pixel2;
  }

  std::vector<std::string> warnings() const { return implausible(geometry, frames, options, maps); }
};

TEST(Plausibility, AGoodRunHasNoWarning) {
  Input input;
  EXPECT_THAT(input.warnings(), IsEmpty());
  input.make_generic();
  EXPECT_THAT(input.warnings(), IsEmpty());
  input.geometry.wavelength.reset();
  input.options.radial_range = Range{0, 30};
  EXPECT_THAT(input.warnings(), IsEmpty());
}

TEST(Plausibility, LengthsInAnotherUnitAreNoticed) {
  Input input;
  input.frames.wavelength.reset();
  input.frames.header.clear();
  input.geometry.wavelength = 1.0;
  EXPECT_THAT(input.warnings(), ElementsAre(AllOf(HasSubstr("a.poni"), HasSubstr("wavelength is 1 m"))));
  input.geometry.wavelength = 1e-10;
  input.geometry.distance = 200;
  EXPECT_THAT(input.warnings(), ElementsAre(HasSubstr("distance is 200 m")));
}

TEST(Plausibility, AHeaderThatContradictsIsNoticed) {
  Input input;
  input.geometry.wavelength = 1.03e-10;
  EXPECT_THAT(input.warnings(),
              ElementsAre(AllOf(HasSubstr("wavelength is 1.03e-10 m"), HasSubstr("1.001e-10"))));
  input.geometry.wavelength = 1e-10;
  input.geometry.distance = 0.33;
  EXPECT_THAT(input.warnings(), ElementsAre(AllOf(HasSubstr("distance is 0.33 m"), HasSubstr("0.21"))));
  input.geometry.distance = 0.3;
  EXPECT_THAT(input.warnings(), IsEmpty());
  input.geometry.detector.pixel2 = 75e-6;
  EXPECT_THAT(input.warnings(), ElementsAre(AllOf(HasSubstr("7.5e-05"), HasSubstr("0.000172"))));
}

TEST(Plausibility, WhatAMasterSaysCountsAsAHeader) {
  Input input;
  input.frames.header.clear();
  input.frames.place = DetectorPlace{"", 0.2, 500, 500, 172e-6, 172e-6};
  EXPECT_THAT(input.warnings(), IsEmpty());
  input.frames.place->distance = 2.0;
  EXPECT_THAT(input.warnings(), ElementsAre(HasSubstr("frames say 2 m")));
}

TEST(Plausibility, HeadersThatSayNothingOfUseAreNoContradiction) {
  Input input;
  for (const char* text : {"", "0", "-1", "210 mm", "unknown", "nan"}) {
    input.frames.header = {{"Detector_distance", text}, {"Pixel_size", text}};
    EXPECT_THAT(input.warnings(), IsEmpty()) << text;
  }
}

TEST(Plausibility, APoniFileOfALargerDetectorIsNoticed) {
  Input input;
  input.make_generic();
  input.geometry.poni1 = 0.225406;  // of a Pilatus 6M
  input.geometry.poni2 = 0.2115772;
  EXPECT_THAT(input.warnings(), ElementsAre(AllOf(HasSubstr("row 1310"), HasSubstr("column 1230"),
                                                  HasSubstr("1043 x 981"), HasSubstr("Pilatus6M"))));
}

TEST(Plausibility, ADetectorBesideTheBeamIsAsItShouldBe) {
  Input input;
  input.make_generic();
  input.geometry.rot1 = -0.6;  // on an arm: the PONI is on it, the beam is not
  EXPECT_THAT(input.warnings(), IsEmpty());
  input.geometry.rot1 = 0;
  input.geometry.poni1 = -0.016;  // before its first row, where no larger detector would be
  EXPECT_THAT(input.warnings(), IsEmpty());
}

TEST(Plausibility, AnInvertedMaskIsNoticed) {
  Input input;
  const auto beam_stop = [](std::uint32_t row, std::uint32_t col) {
    return row > 400 && row < 600 && col < 500;
  };
  input.set_mask(1, beam_stop);
  EXPECT_THAT(input.warnings(), IsEmpty());
  input.set_mask(0, beam_stop);
  EXPECT_THAT(input.warnings(),
              ElementsAre(AllOf(HasSubstr("mask.edf"), HasSubstr("inverted"), Not(HasSubstr("gaps")))));
  const Mask gaps = input.geometry.detector.gap_mask();
  input.set_mask(0, [&](std::uint32_t row, std::uint32_t col) { return gaps.at(row, col) != 0; });
  EXPECT_THAT(input.warnings(),
              ElementsAre(AllOf(HasSubstr("leaves 0.0 %"), HasSubstr("gaps of Pilatus1M"))));
}

TEST(Plausibility, AMaskOfAnotherShapeIsLeftToThePlan) {
  Input input;
  input.maps.mask = Mask{{2, 2}, {1, 1, 1, 1}};
  EXPECT_THAT(input.warnings(), IsEmpty());
}

// The frames reach 3.4 1/A, 32 degrees, 0.55 rad.
TEST(Plausibility, ARangeInAnotherUnitIsNoticed) {
  Input input;
  const auto warned = [&](Unit unit, double low, double high) {
    input.options.unit = unit;
    input.options.radial_range = Range{low, high};
    return input.warnings();
  };
  EXPECT_THAT(warned(Unit::kQPerA, 2, 30),
              ElementsAre(AllOf(HasSubstr("`radial_range`"), HasSubstr("2th_deg"))));
  EXPECT_THAT(warned(Unit::kQPerA, 1, 40), ElementsAre(HasSubstr("mostly outside")));
  EXPECT_THAT(warned(Unit::kQPerNm, 0.2, 3.5),
              ElementsAre(AllOf(HasSubstr("small part"), HasSubstr("fit q_A^-1"))));
  EXPECT_THAT(warned(Unit::kTwoThetaDeg, 0.05, 0.55), ElementsAre(HasSubstr("fit 2th_rad")));
  EXPECT_THAT(warned(Unit::kTwoThetaRad, 3, 30), ElementsAre(HasSubstr("2th_deg (0 to")));
}

TEST(Plausibility, ARangeThatIsMeantHasNoWarning) {
  Input input;
  for (const auto& [unit, low, high] :
       std::initializer_list<std::tuple<Unit, double, double>>{{Unit::kQPerA, 0.1, 2},
                                                               {Unit::kQPerA, 2.0, 2.1},
                                                               {Unit::kQPerA, 0, 8},
                                                               {Unit::kTwoThetaDeg, 5, 6},
                                                               {Unit::kTwoThetaDeg, 0, 90},
                                                               {Unit::kQPerNm, 10, 12},
                                                               {Unit::kRadiusMm, 10, 100}}) {
    input.options.unit = unit;
    input.options.radial_range = Range{low, high};
    EXPECT_THAT(input.warnings(), IsEmpty()) << name_of(unit) << " " << low << " " << high;
  }
}

}  // namespace
}  // namespace annulus::testing
