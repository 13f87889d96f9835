#include <annulus/core/error.hpp>

#include <gtest/gtest.h>
#include <tools/simulate/phantom_scan.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace annulus {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr auto kAu = Calibrant::kGold;
constexpr auto kLaB6 = Calibrant::kLaB6;
constexpr auto kCeO2 = Calibrant::kCeO2;

portable::SinCos at(double degrees) { return portable::sin_cos_turns(degrees / 360); }

const std::vector<std::string> kNamed = {"discs", "inclusions", "capillary", "random"};

template <typename Attempt>
std::string usage_error(const Attempt& attempt) {
  try {
    attempt();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_FALSE(error.cure().empty());
    return error.what();
  }
  return "no error";
}

// What is at a point: the last disc that has it inside.
const Disc* disc_at(const Phantom& phantom, double x, double y) {
  const Disc* found = nullptr;
  for (const Disc& disc : phantom.discs()) {
    if (std::hypot(x - disc.x, y - disc.y) < disc.radius) found = &disc;
  }
  return found != nullptr && found->phase ? found : nullptr;
}

TEST(Phantom, ChordsOfADiscAreThoseOfACircle) {
  const Phantom phantom({{kAu, 0.3, -0.2, 0.4, 0.5}}, 10);  // 5 mm a half
  for (const double degrees : {0.0, 17.0, 90.0, 133.3, 271.0}) {
    const double radians = degrees * kPi / 180;
    const double middle = 1.5 * std::cos(radians) + 1.0 * std::sin(radians);
    for (const double distance : {-2.1, -1.999, -1.2, 0.0, 0.7, 1.5, 2.0001}) {
      const double chord = std::fabs(distance) < 2 ? 2 * std::sqrt(4 - distance * distance) : 0;
      EXPECT_NEAR(phantom.paths(middle + distance, at(degrees), {}).scattering[0], 0.5 * chord, 1e-12)
          << degrees << ", " << distance;
    }
  }
}

TEST(Phantom, ABeamMeetsDiscsInTheirOrderAndTheLaterDiscIsOnTop) {
  // Along y at angle 0: matrix, hole, matrix, a grain that overlaps the hole's place, matrix.
  const Phantom phantom({{kCeO2, 0, 0, 0.9, 0.2},
                         {std::nullopt, 0, -0.4, 0.2, 0},
                         {kAu, 0, 0.2, 0.3, 1},
                         {kLaB6, 0, 0.4, 0.2, 0.5}},
                        2);
  const auto found = phantom.stretches(0, at(0));
  const std::vector<Phantom::Stretch> expected = {{-0.9, -0.6, 0}, {-0.2, -0.1, 0}, {-0.1, 0.2, 2},
                                                  {0.2, 0.5, 3},   {0.5, 0.6, 3},   {0.6, 0.9, 0}};
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].begin, expected[i].begin, 1e-14) << i;
    EXPECT_NEAR(found[i].end, expected[i].end, 1e-14) << i;
    EXPECT_EQ(found[i].disc, expected[i].disc) << i;
  }
  // Half a turn later it comes from the other side.
  EXPECT_EQ(phantom.stretches(0, at(180))[1].disc, 3u);
}

TEST(Phantom, EveryNamedOneHasThePhasesAndFitsTheField) {
  for (const std::string& name : kNamed) {
    for (const std::uint64_t seed : {1, 2, 3, 77}) {
      const Phantom phantom(discs_of_phantom(name, seed), 1);
      std::vector<Calibrant> phases = phantom.phases();
      std::sort(phases.begin(), phases.end());
      EXPECT_EQ(phases, (std::vector{kAu, kLaB6, kCeO2})) << name;
    }
  }
}

TEST(Phantom, DiscsOfARandomOneDoNotTouchAndDependOnTheSeed) {
  const auto discs = discs_of_phantom("random", 5);
  ASSERT_GE(discs.size(), 6u);
  for (std::size_t i = 0; i < discs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_GT(std::hypot(discs[i].x - discs[j].x, discs[i].y - discs[j].y),
                discs[i].radius + discs[j].radius);
    }
  }
  EXPECT_EQ(discs_of_phantom("random", 5)[3].x, discs[3].x);
  EXPECT_NE(discs_of_phantom("random", 6)[3].x, discs[3].x);
}

// Whatever the angle, the paths of all beams together hold all of a phase: its area times its density. The
// sum over beams is the trapezoidal rule of chords, whose ends fall like a root: an error of order step^1.5.
TEST(Phantom, ProjectionsAtEveryAngleHoldTheWholeSample) {
  for (const std::string& name : kNamed) {
    const Phantom phantom(discs_of_phantom(name, 1), 2);
    const std::uint32_t voxels = 64;
    const Phantom::Maps maps = phantom.maps(voxels, 2.0 / voxels, 1);
    const std::size_t plane = voxels * voxels;
    for (std::size_t phase = 0; phase < phantom.phases().size(); ++phase) {
      double total = 0;
      for (std::size_t i = 0; i < plane; ++i) total += maps.density[phase * plane + i] * 4 / plane;
      for (double degrees = 0; degrees < 360; degrees += 11.7) {
        const double step = 2.0 / 2000;
        double sum = 0;
        for (int i = -1000; i <= 1000; ++i)
          sum += phantom.paths(i * step, at(degrees), {}).scattering[phase] * step;
        EXPECT_NEAR(sum / total, 1, 3e-4) << name << ", phase " << phase << ", " << degrees;
      }
    }
  }
}

TEST(Phantom, MapsHoldTheAreasOfTheirDiscs) {
  const Phantom phantom(discs_of_phantom("capillary", 1), 2);
  const std::uint32_t voxels = 50;
  const double area = 4.0 / (voxels * voxels);
  const Phantom::Maps maps = phantom.maps(voxels, 2.0 / voxels, 1);
  const double expected[] = {kPi * (0.85 * 0.85 - 0.68 * 0.68), kPi * 0.35 * 0.35, kPi * 0.15 * 0.15};
  for (int phase = 0; phase < 3; ++phase) {
    double sum = 0;
    for (std::uint32_t i = 0; i < voxels * voxels; ++i)
      sum += maps.fraction[phase * voxels * voxels + i] * area;
    EXPECT_NEAR(sum / expected[phase], 1, 1e-4) << phase;
  }
}

TEST(Phantom, MapsAreTheShareOfPointsInEveryVoxel) {
  const Phantom phantom(discs_of_phantom("inclusions", 1), 3);
  const std::uint32_t voxels = 20;
  const double size = 3.0 / voxels;
  const Phantom::Maps maps = phantom.maps(voxels, size, 1);
  constexpr int kPoints = 200;  // along each side
  double worst = 0;
  for (std::uint32_t row = 0; row < voxels; ++row) {
    for (std::uint32_t col = 0; col < voxels; ++col) {
      double share[3] = {};
      double density[3] = {};
      for (int i = 0; i < kPoints; ++i) {
        for (int j = 0; j < kPoints; ++j) {
          const double y = (row + (i + 0.5) / kPoints) * size - 1.5;
          const double x = (col + (j + 0.5) / kPoints) * size - 1.5;
          const Disc* disc = disc_at(phantom, x, y);
          if (disc == nullptr) continue;
          const auto phase = phantom.phase_of(static_cast<std::size_t>(disc - phantom.discs().data()));
          share[phase] += 1.0 / (kPoints * kPoints);
          density[phase] += disc->density / (kPoints * kPoints);
        }
      }
      for (std::size_t phase = 0; phase < 3; ++phase) {
        const std::size_t voxel = (phase * voxels + row) * voxels + col;
        worst = std::max({worst, std::fabs(maps.fraction[voxel] - share[phase]),
                          std::fabs(maps.density[voxel] - density[phase])});
      }
    }
  }
  EXPECT_LT(worst, 4.0 / kPoints);  // a circle's edge crosses about one row and one column of points
}

TEST(Phantom, MapsDoNotDependOnThreads) {
  const Phantom phantom(discs_of_phantom("inclusions", 1), 1);
  const Phantom::Maps one = phantom.maps(33, 1.0 / 33, 1);
  const Phantom::Maps four = phantom.maps(33, 1.0 / 33, 4);
  EXPECT_EQ(one.fraction, four.fraction);
  EXPECT_EQ(one.density, four.density);
}

// Small steps along the beam, each with what is at its middle.
TEST(Phantom, AbsorptionIsTheLineIntegral) {
  const std::vector<double> attenuation = {1.7, 0.4, 0.9};
  for (const std::string& name : kNamed) {
    const Phantom phantom(discs_of_phantom(name, 4), 4);
    for (const double degrees : {0.0, 33.0, 90.0, 213.0}) {
      for (const double offset : {-1.1, -0.2, 0.13, 0.9}) {
        const double radians = degrees * kPi / 180;
        constexpr int kSteps = 200000;
        constexpr double kStep = 4.0 / kSteps;
        double depth = 0;
        std::vector<double> expected(3);
        for (int i = 0; i < kSteps; ++i) {
          const double u = -2 + (i + 0.5) * kStep;
          const Disc* disc = disc_at(phantom, offset * std::cos(radians) + u * std::sin(radians),
                                     -offset * std::sin(radians) + u * std::cos(radians));
          if (disc == nullptr) continue;
          const auto phase = phantom.phase_of(static_cast<std::size_t>(disc - phantom.discs().data()));
          const double fall = attenuation[phase] * disc->density * kStep;
          expected[phase] += disc->density * kStep * std::exp(-(depth + fall / 2));
          depth += fall;
        }
        const Phantom::Paths found = phantom.paths(offset, at(degrees), attenuation);
        EXPECT_NEAR(found.transmission, std::exp(-depth), 1e-4);
        for (std::size_t phase = 0; phase < 3; ++phase) {
          EXPECT_NEAR(found.scattering[phase], expected[phase], 1e-4)
              << name << ", " << degrees << ", " << offset << ", phase " << phase;
        }
      }
    }
  }
}

TEST(Phantom, WeakAbsorptionGoesOverIntoNone) {
  const Phantom phantom(discs_of_phantom("inclusions", 1), 2);
  const Phantom::Paths none = phantom.paths(0.1, at(20), {});
  EXPECT_EQ(none.transmission, 1);
  for (const double weak : {0.0, 1e-15, 1e-9, 1e-5}) {
    const Phantom::Paths some = phantom.paths(0.1, at(20), {weak, weak, weak});
    for (std::size_t phase = 0; phase < 3; ++phase) {
      EXPECT_NEAR(some.scattering[phase], none.scattering[phase], 1e-13 + 4 * weak) << weak;
      EXPECT_GE(none.scattering[phase] * (1 + 1e-14), some.scattering[phase]);
    }
  }
}

TEST(Phantom, RefusesDiscsThatMakeNoSense) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto fault = [](const Disc& disc) { return usage_error([&] { Phantom({disc}, 1); }); };
  EXPECT_NE(fault({kAu, 0.8, 0, 0.3, 1}).find("leaves the field"), std::string::npos);
  EXPECT_NE(fault({kAu, 0.7, 0.7, 0.2, 1}).find("leaves the field"), std::string::npos);
  EXPECT_NE(fault({kAu, nan, 0, 0.3, 1}).find("leaves the field"), std::string::npos);
  EXPECT_NE(fault({kAu, 0, 0, 0, 1}).find("radius"), std::string::npos);
  EXPECT_NE(fault({kAu, 0, 0, nan, 1}).find("radius"), std::string::npos);
  EXPECT_NE(fault({kAu, 0, 0, 0.3, 0}).find("density"), std::string::npos);
  EXPECT_NE(fault({kAu, 0, 0, 0.3, 1.1}).find("density"), std::string::npos);
  EXPECT_NE(fault({std::nullopt, 0, 0, 0.3, 0}).find("no disc of a powder"), std::string::npos);
  EXPECT_NE(usage_error([] { Phantom({}, 1); }).find("no disc of a powder"), std::string::npos);
  EXPECT_NE(
      usage_error([] { discs_of_phantom("bear", 1); }).find("discs, inclusions, capillary, random, empty"),
      std::string::npos);
}

TEST(Disc, IsReadFromText) {
  const Disc disc = disc_from_text("lab6,0.25,-0.5,0.125,0.75");
  EXPECT_EQ(disc.phase, kLaB6);
  EXPECT_EQ(disc.x, 0.25);
  EXPECT_EQ(disc.y, -0.5);
  EXPECT_EQ(disc.radius, 0.125);
  EXPECT_EQ(disc.density, 0.75);
  EXPECT_EQ(disc_from_text("Au,0,0,1").density, 1);
  EXPECT_EQ(disc_from_text("hole,0,0,1").phase, std::nullopt);
  for (const char* wrong : {"", "Au", "Au,1,2", "Au,1,2,3,4,5", "Pb,0,0,0.1", "Au,0,x,0.1", "Au,0,0,0.1 ",
                            "Au,0,,0.1", "Au,0,nan,0.1", "Au,0,inf,0.1", "hole,0,0,0.1,0.5"}) {
    EXPECT_NE(usage_error([&] { disc_from_text(wrong); }), "no error") << wrong;
  }
}

PhantomOptions small() {
  PhantomOptions options;
  options.voxels = 8;
  options.voxel_size = 0.5;
  options.angles = 5;
  return options;
}

TEST(ScanPoints, StepAcrossTheSampleAndThenTurnIt) {
  PhantomOptions options = small();
  options.positions = 3;
  options.step = 0.25;
  options.angle_range = 360;
  const auto points = scan_points(options, 1);
  ASSERT_EQ(points.size(), 15u);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i].translation, (static_cast<double>(i % 3) - 1) * 0.25);
    EXPECT_EQ(points[i].angle, static_cast<double>(i / 3) * 72);
    EXPECT_DOUBLE_EQ(points[i].time, static_cast<double>(i) * 0.01);
  }
}

TEST(ScanPoints, AreAtTheMiddlesOfVoxelsUnlessTold) {
  const auto points = scan_points(small(), 1);
  ASSERT_EQ(points.size(), 40u);
  EXPECT_EQ(points.front().translation, -1.75);
  EXPECT_EQ(points[7].translation, 1.75);
  EXPECT_EQ(points.back().angle, 144);
}

TEST(ScanPoints, OfAZigzagAreTheSameInAnotherOrder) {
  PhantomOptions options = small();
  options.jitter = 0.3;
  const auto straight = scan_points(options, 1);
  options.jitter = 0;
  options.zigzag = true;
  const auto zigzag = scan_points(options, 1);
  ASSERT_EQ(zigzag.size(), straight.size());
  for (std::size_t i = 0; i < zigzag.size(); ++i) {
    const std::size_t place = i / 8 % 2 == 0 ? i % 8 : 7 - i % 8;
    EXPECT_EQ(zigzag[i].translation, (static_cast<double>(place) - 3.5) * 0.5);
    EXPECT_EQ(zigzag[i].angle, straight[i].angle);
  }
}

TEST(ScanPoints, WithJitterAreOffByUpToAPartOfAStep) {
  PhantomOptions options = small();
  options.voxels = 100;
  const auto even = scan_points(options, 1);
  options.jitter = 0.4;
  const auto uneven = scan_points(options, 1);
  double most = 0;
  double sum = 0;
  for (std::size_t i = 0; i < even.size(); ++i) {
    const double off = (uneven[i].translation - even[i].translation) / 0.5;
    most = std::max(most, std::fabs(off));
    sum += off;
  }
  EXPECT_LE(most, 0.4 + 1e-12);
  EXPECT_GT(most, 0.39);
  EXPECT_NEAR(sum / 500, 0, 4 * 0.4 / std::sqrt(3.0 * 500));
  EXPECT_NE(scan_points(options, 2)[0].translation, uneven[0].translation);
}

TEST(ScanPoints, ThatAreMissingLeaveAGapInTime) {
  PhantomOptions options = small();
  options.voxels = 100;
  const auto all = scan_points(options, 3);
  options.missing = 0.2;
  const auto some = scan_points(options, 3);
  EXPECT_NEAR(static_cast<double>(some.size()), 400, 4 * std::sqrt(500 * 0.2 * 0.8));
  for (const ScanPoint& point : some) {
    const auto nominal = static_cast<std::size_t>(std::lround(point.time / 0.01));
    EXPECT_EQ(point.translation, all[nominal].translation);
    EXPECT_EQ(point.angle, all[nominal].angle);
  }
}

TEST(ScanPoints, RefuseOptionsThatMakeNoSense) {
  const auto fault = [](auto change) {
    PhantomOptions options = small();
    change(options);
    return usage_error([&] { scan_points(options, 1); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(fault([](auto& o) { o.angles = 0; }).find("`angles`"), std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.positions = 0; }).find("`positions`"), std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.voxels = 0; }).find("`voxels`"), std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.voxel_size = 0; }).find("`voxel_size`"), std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.step = -1; }).find("`step`"), std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.angle_range = 0; }).find("`angle_range`"), std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.angle_range = 361; }).find("`angle_range`"), std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.jitter = 0.6; }).find("`jitter`"), std::string::npos);
  EXPECT_NE(fault([&](auto& o) { o.missing = nan; }).find("`missing`"), std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.missing = 1; }).find("no frame is left"), std::string::npos);
  EXPECT_NE(fault([&](auto& o) { o.axis_offset = nan; }).find("`axis_offset`"), std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.angles = 1000000, o.positions = 1000; }).find("make at most"),
            std::string::npos);
}

// Published coefficients (NIST, Hubbell and Seltzer 1995), in square centimetres a gram.
TEST(Attenuation, OfGoldIsThePublishedOne) {
  const double per_millimetre = 19.32 / 10;
  EXPECT_NEAR(attenuation_of(kAu, 10), 118.1 * per_millimetre, 0.01 * 118.1 * per_millimetre);
  EXPECT_NEAR(attenuation_of(kAu, 20), 78.83 * per_millimetre, 0.01 * 78.83 * per_millimetre);
  EXPECT_NEAR(attenuation_of(kAu, 60), 4.528 * per_millimetre, 0.01 * 4.528 * per_millimetre);
  // Between rows it follows a power law.
  EXPECT_NEAR(attenuation_of(kAu, std::sqrt(30.0 * 35.0)), std::sqrt(53.18 * 35.51), 1e-6);
}

TEST(Attenuation, JumpsAtEdgesAndFallsBetween) {
  EXPECT_GT(attenuation_of(kCeO2, 40.45), 4 * attenuation_of(kCeO2, 40.44));
  for (const auto phase : {kAu, kLaB6, kCeO2, Calibrant::kSilicon, Calibrant::kAlumina}) {
    EXPECT_GT(attenuation_of(phase, 16), attenuation_of(phase, 22));
    EXPECT_GT(attenuation_of(phase, 8), 0);
    EXPECT_GT(attenuation_of(phase, 100), 0);
    EXPECT_NE(usage_error([&] { attenuation_of(phase, 7.9); }), "no error");
    EXPECT_NE(usage_error([&] { attenuation_of(phase, 101); }), "no error");
  }
}

}  // namespace
}  // namespace annulus
