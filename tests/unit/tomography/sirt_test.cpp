#include <annulus/tomography/sirt.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <stop_token>

#include "message_of.hpp"
#include "phantom.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;

struct Reconstruction {
  Tomogram tomogram;
  std::vector<SirtReport> reports;
};

Reconstruction iterate(const ScanGeometry& scan, const Sinogram& sinogram, const SirtOptions& options = {}) {
  const Sirt sirt(scan, options);
  Reconstruction result{Tomogram(sirt.size(), sinogram.bins), {}};
  std::ranges::fill(result.tomogram.values, std::numeric_limits<float>::quiet_NaN());
  result.reports = sirt.reconstruct(sinogram.view(), result.tomogram.view());
  return result;
}

TEST(Sirt, FindsTheTruthOfFewAnglesWhereBackProjectionShowsStreaks) {
  const ScanGeometry scan{even_angles(20, std::numbers::pi), 101, 50};
  const Sinogram sinogram = scan_discs(kDiscs, scan);
  const auto [tomogram, reports] = iterate(scan, sinogram);
  const FilteredBackProjection direct(scan, {});
  Tomogram streaks(101, 1);
  direct.reconstruct(sinogram.view(), streaks.view());
  const double deviation = deviation_from(tomogram, kDiscs), beside = deviation_from(streaks, kDiscs);
  EXPECT_LT(deviation, 0.03);
  EXPECT_GT(beside, 4 * deviation);
  for (const Disc& disc : kDiscs) {
    const FoundDisc found = find_disc(tomogram, disc);
    EXPECT_NEAR(found.x, disc.x, 0.1);
    EXPECT_NEAR(found.y, disc.y, 0.1);
    EXPECT_NEAR(found.density, disc.density, 0.02 * disc.density);
  }
  EXPECT_LT(reports[0].misfit, 0.01);
  for (const float value : tomogram.values) ASSERT_GE(value, 0);
}

TEST(Sirt, MoreIterationsComeCloser) {
  const ScanGeometry scan{even_angles(20, std::numbers::pi), 101, 48.6};
  const Sinogram sinogram = scan_discs(kDiscs, scan);
  double deviation = 10, misfit = 2;
  for (const std::size_t iterations : {1U, 10U, 100U}) {
    SirtOptions options;
    options.iterations = iterations;
    options.tolerance = 0;
    const auto [tomogram, reports] = iterate(scan, sinogram, options);
    EXPECT_EQ(reports[0].iterations, iterations);
    EXPECT_LT(reports[0].misfit, misfit);
    EXPECT_LT(deviation_from(tomogram, kDiscs), deviation);
    misfit = reports[0].misfit;
    deviation = deviation_from(tomogram, kDiscs);
  }
}

TEST(Sirt, EachBinStopsByItself) {
  const ScanGeometry scan{even_angles(12, std::numbers::pi), 30, 15};
  Sinogram sinogram = random_sinogram(12, 30, 66, 4);  // noise: what no sample explains
  const Sinogram discs = scan_discs({{0, 0, 6, 1}, {5, -6, 3, 2}}, scan);
  for (std::size_t cell = 0; cell < 12 * 30; ++cell) {
    sinogram.values[cell * 66 + 3] = 0;
    sinogram.values[cell * 66 + 65] = discs.values[cell];
  }
  SirtOptions options;
  options.tolerance = 0.01;
  const auto [tomogram, reports] = iterate(scan, sinogram, options);
  ASSERT_EQ(reports.size(), 66);
  EXPECT_EQ(reports[3].iterations, 0);
  EXPECT_EQ(reports[3].misfit, 0);
  EXPECT_GT(reports[65].iterations, reports[0].iterations + 3);
  EXPECT_LT(reports[65].misfit, reports[0].misfit);
  const auto [alone, report] = iterate(scan, discs, options);
  EXPECT_EQ(report[0].iterations, reports[65].iterations);
  for (std::size_t pixel = 0; pixel < 30 * 30; ++pixel) {
    ASSERT_EQ(alone.values[pixel], tomogram.values[pixel * 66 + 65]) << pixel;
  }
}

TEST(Sirt, LeavesOutMissingCells) {
  const ScanGeometry scan{even_angles(20, std::numbers::pi), 101, 50};
  Sinogram missing = scan_discs(kDiscs, scan), zero = missing;
  Noise noise(9);
  for (std::size_t i = 0; i < missing.values.size(); ++i) {
    if (noise() > 0.1) continue;
    missing.values[i] = std::numeric_limits<float>::quiet_NaN();
    zero.values[i] = 0;
  }
  const double deviation = deviation_from(iterate(scan, missing).tomogram, kDiscs);
  EXPECT_LT(deviation, 0.05);
  EXPECT_GT(deviation_from(iterate(scan, zero).tomogram, kDiscs), 3 * deviation);
}

TEST(Sirt, GivesTheSameBytesForEveryNumberOfThreadsAndInstructionSet) {
  const ScanGeometry scan{even_angles(9, std::numbers::pi), 35, 16.2};
  const Sinogram sinogram = random_sinogram(9, 35, 70, 11);
  SirtOptions options;
  options.iterations = 4;
  options.threads = 1;
  options.instruction_set = InstructionSet::kGeneric;
  const Tomogram expected = iterate(scan, sinogram, options).tomogram;
  for (const InstructionSet set : available_instruction_sets()) {
    for (const unsigned threads : {1U, 2U, 3U, 7U}) {
      options.instruction_set = set;
      options.threads = threads;
      const Tomogram found = iterate(scan, sinogram, options).tomogram;
      EXPECT_EQ(std::memcmp(found.values.data(), expected.values.data(), found.values.size() * sizeof(float)),
                0)
          << name_of(set) << ", " << threads << " threads";
    }
  }
}

TEST(Sirt, StopsIfAsked) {
  const ScanGeometry scan{even_angles(5, std::numbers::pi), 10, 5};
  const Sirt sirt(scan, {});
  const Sinogram sinogram = scan_discs({{0, 0, 3, 1}}, scan);
  Tomogram tomogram(10, 1);
  std::stop_source source;
  source.request_stop();
  EXPECT_THAT(message_of(ErrorKind::kInterrupted,
                         [&] { sirt.reconstruct(sinogram.view(), tomogram.view(), source.get_token()); }),
              HasSubstr("interrupted"));
}

TEST(Sirt, RefusesWhatCannotBe) {
  const ScanGeometry scan{even_angles(5, std::numbers::pi), 10, 5};
  SirtOptions options;
  options.iterations = 0;
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { Sirt(scan, options); }), HasSubstr("`iterations`"));
  options = {};
  options.tolerance = std::nan("");
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { Sirt(scan, options); }), HasSubstr("`tolerance`"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { Sirt({{1}, 10, 5}, {}); }), HasSubstr("one direction"));
  Sinogram sinogram(5, 10, 1);
  sinogram.at(2, 3)[0] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(message_of(ErrorKind::kInput, [&] { iterate(scan, sinogram); }), HasSubstr("bin 0 is inf"));
}

}  // namespace
}  // namespace annulus
