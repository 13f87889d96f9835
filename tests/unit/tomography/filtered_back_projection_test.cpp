#include <annulus/tomography/filtered_back_projection.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "message_of.hpp"
#include "phantom.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;

void expect_discs(const Tomogram& tomogram, double scale = 1, std::size_t bin = 0) {
  for (const Disc& disc : kDiscs) {
    const FoundDisc found = find_disc(tomogram, disc, bin);
    EXPECT_NEAR(found.x, disc.x, 0.1);
    EXPECT_NEAR(found.y, disc.y, 0.1);
    EXPECT_NEAR(found.density, scale * disc.density, 0.02 * scale * disc.density);
  }
}

TEST(FilteredBackProjection, FindsDiscsWhereTheyAreWithTheirDensity) {
  const ScanGeometry scan{even_angles(181, std::numbers::pi), 101, 50};
  const Tomogram tomogram = reconstruct(scan, scan_discs(kDiscs, scan, 3));
  for (std::size_t bin = 0; bin < 3; ++bin) expect_discs(tomogram, static_cast<double>(bin + 1), bin);
}

TEST(FilteredBackProjection, TakesEveryFilter) {
  const ScanGeometry scan{even_angles(181, std::numbers::pi), 101, 50};
  const Sinogram sinogram = scan_discs(kDiscs, scan);
  for (const Filter filter : {Filter::kSheppLogan, Filter::kCosine, Filter::kHann}) {
    SCOPED_TRACE(name_of(filter));
    FbpOptions options;
    options.filter = filter;
    expect_discs(reconstruct(scan, sinogram, options));
  }
}

TEST(FilteredBackProjection, WeighsUnevenAnglesByTheirSpacing) {
  // Dense in one half, sparse in the other.
  std::vector<double> angles;
  for (int i = 0; i < 150; ++i) angles.push_back(std::numbers::pi / 2 * i / 150);
  for (int i = 0; i < 50; ++i) angles.push_back(std::numbers::pi / 2 * (1 + i / 50.0));
  const ScanGeometry scan{angles, 101, 50};
  const Sinogram sinogram = scan_discs(kDiscs, scan);
  expect_discs(reconstruct(scan, sinogram));
  FbpOptions equal;
  equal.weighting = AngleWeighting::kEqual;
  EXPECT_GT(deviation_from(reconstruct(scan, sinogram, equal), kDiscs),
            4 * deviation_from(reconstruct(scan, sinogram), kDiscs));
}

TEST(FilteredBackProjection, TakesAnglesInAnyOrder) {
  std::vector<double> angles;  // by the golden ratio, beyond many turns
  for (int i = 0; i < 200; ++i) angles.push_back(i * std::numbers::pi * (std::sqrt(5) - 1) / 2 - 30);
  const ScanGeometry scan{angles, 101, 50};
  expect_discs(reconstruct(scan, scan_discs(kDiscs, scan)));
}

TEST(FilteredBackProjection, FoldsAWholeTurn) {
  for (const std::size_t count : {360U, 361U}) {  // of even numbers every direction comes twice
    const ScanGeometry scan{even_angles(count, 2 * std::numbers::pi), 101, 50};
    expect_discs(reconstruct(scan, scan_discs(kDiscs, scan)));
  }
  // From 0 to 180 degrees, both included: the first direction comes twice, and the others do not suffer.
  std::vector<double> angles = even_angles(180, std::numbers::pi);
  const ScanGeometry half{angles, 101, 50};
  angles.push_back(std::numbers::pi);
  const ScanGeometry closed{angles, 101, 50};
  const Tomogram expected = reconstruct(half, scan_discs(kDiscs, half));
  const Tomogram found = reconstruct(closed, scan_discs(kDiscs, closed));
  for (std::size_t i = 0; i < found.values.size(); ++i)
    ASSERT_NEAR(found.values[i], expected.values[i], 2e-5) << i;
}

TEST(FilteredBackProjection, TakesAnyAxis) {
  for (const double axis : {50.0, 50.5, 47.3, 53.81}) {
    SCOPED_TRACE(axis);
    const ScanGeometry scan{even_angles(181, std::numbers::pi), 101, axis};
    expect_discs(reconstruct(scan, scan_discs(kDiscs, scan)));
  }
  // An axis far from the middle, all round: the field of view is wider than the scan.
  const ScanGeometry scan{even_angles(400, 2 * std::numbers::pi), 90, 44};
  FbpOptions options;
  options.size = 101;
  expect_discs(reconstruct(scan, scan_discs(kDiscs, scan), options));
}

TEST(FilteredBackProjection, AWrongAxisIsSeen) {
  ScanGeometry scan{even_angles(181, std::numbers::pi), 101, 50};
  const Sinogram sinogram = scan_discs(kDiscs, scan);
  const double right = deviation_from(reconstruct(scan, sinogram), kDiscs);
  scan.axis = 51.5;
  EXPECT_GT(deviation_from(reconstruct(scan, sinogram), kDiscs), 2 * right);
}

TEST(FilteredBackProjection, AnUnfinishedScanHasNoEndThatCountsForAll) {
  std::vector<double> quarter = even_angles(180, std::numbers::pi);
  quarter.resize(45);
  const AngleWeights weights = weigh_angles(quarter, AngleWeighting::kSpacing);
  for (const double weight : weights.weights) EXPECT_NEAR(weight, std::numbers::pi / 180, 1e-12);
  EXPECT_NEAR(weights.covered, std::numbers::pi / 4, 1e-12);
}

TEST(FilteredBackProjection, StopsIfAsked) {
  const ScanGeometry scan{{0, 1, 2}, 70, 30};
  std::stop_source source;
  source.request_stop();
  for (const FbpWay way : {FbpWay::kDirect, FbpWay::kFourier}) {
    FbpOptions options;
    options.interpolation = Interpolation::kBandLimited;
    options.way = way;
    Tomogram tomogram(70, 3);
    const FilteredBackProjection reconstruction(scan, options);
    EXPECT_THAT(message_of(ErrorKind::kInterrupted,
                           [&] {
                             reconstruction.reconstruct(Sinogram(3, 70, 3).view(), tomogram.view(),
                                                        source.get_token());
                           }),
                HasSubstr("interrupted"));
  }
}

TEST(FilteredBackProjection, GivesTheSameBytesForEveryNumberOfThreadsAndInstructionSet) {
  const ScanGeometry scan{even_angles(37, std::numbers::pi), 61, 28.7};
  const Sinogram sinogram = random_sinogram(37, 61, 70, 1);  // a group of lanes, and part of another
  for (const Filter filter : {Filter::kRamp, Filter::kHann}) {
    FbpOptions options;
    options.filter = filter;
    options.instruction_set = InstructionSet::kGeneric;
    options.threads = 1;
    const Tomogram expected = reconstruct(scan, sinogram, options);
    for (const InstructionSet set : available_instruction_sets()) {
      for (const unsigned threads : {1U, 2U, 3U, 7U}) {
        options.instruction_set = set;
        options.threads = threads;
        const Tomogram found = reconstruct(scan, sinogram, options);
        EXPECT_EQ(
            std::memcmp(found.values.data(), expected.values.data(), found.values.size() * sizeof(float)), 0)
            << name_of(set) << ", " << threads << " threads, " << name_of(filter);
      }
    }
  }
}

TEST(FilteredBackProjection, ABlockOfBinsIsAsInTheWhole) {
  const ScanGeometry scan{even_angles(20, std::numbers::pi), 40, 19.5};
  const Sinogram sinogram = random_sinogram(20, 40, 150, 2);
  const FilteredBackProjection reconstruction(scan, {});
  Tomogram whole(40, 150), blocks(40, 150);
  reconstruction.reconstruct(sinogram.view(), whole.view());
  const BlockMemory memory = reconstruction.memory();
  const std::size_t at_once = memory.bins_within(memory.fixed + 67 * memory.per_bin, 150);
  EXPECT_EQ(at_once, 64);
  EXPECT_EQ(memory.bins_within(memory.fixed + 1000 * memory.per_bin, 150), 150);
  EXPECT_EQ(memory.bins_within(memory.fixed + 9 * memory.per_bin, 150), 9);
  for (std::size_t first = 0; first < 150; first += at_once) {
    const std::size_t count = std::min(at_once, 150 - first);
    reconstruction.reconstruct(sinogram.view().bins_from(first, count),
                               blocks.view().bins_from(first, count));
  }
  EXPECT_EQ(whole.values, blocks.values);
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { memory.bins_within(memory.fixed, 1); }),
              HasSubstr("`memory`"));
}

TEST(FilteredBackProjection, RefusesWhatIsNoScan) {
  const auto refused = [](const ScanGeometry& scan) {
    return message_of(ErrorKind::kInput, [&] { FilteredBackProjection(scan, {}); });
  };
  EXPECT_THAT(refused({{0.3}, 10, 4}), HasSubstr("1 angle gives only one direction"));
  EXPECT_THAT(refused({{}, 10, 4}), HasSubstr("`angles`"));
  EXPECT_THAT(refused({{0.3, 0.3 + std::numbers::pi, 0.3}, 10, 4}),
              HasSubstr("3 angles give only one direction"));
  EXPECT_THAT(refused({{0, 1, std::nan("")}, 10, 4}), HasSubstr("angle 2 is nan"));
  EXPECT_THAT(refused({{0, 1, std::numeric_limits<double>::infinity()}, 10, 4}), HasSubstr("angle 2 is inf"));
  EXPECT_THAT(refused({{0, 1}, 0, 4}), HasSubstr("`positions`"));
  EXPECT_THAT(refused({{0, 1}, 1, 0}), HasSubstr("`positions`"));
  EXPECT_THAT(refused({{0, 1}, 10, std::nan("")}), HasSubstr("`axis`"));
  EXPECT_THAT(refused({{0, 1}, 10, 9.1}), HasSubstr("9.1, not among the positions 0 to 9"));
  EXPECT_THAT(refused({{0, 1}, std::size_t{1} << 60, 4}), HasSubstr("too many"));
  FbpOptions one;
  one.size = 1;
  EXPECT_THAT(message_of(ErrorKind::kUsage,
                         [&] {
                           FilteredBackProjection({{0, 1}, 10, 4}, one);
                         }),
              HasSubstr("`size`"));
}

TEST(FilteredBackProjection, RefusesOtherSinograms) {
  const ScanGeometry scan{even_angles(5, std::numbers::pi), 10, 5};
  const FilteredBackProjection reconstruction(scan, {});
  Tomogram tomogram(10, 2);
  const auto refused = [&](const Sinogram& sinogram, std::size_t bins) {
    return message_of(ErrorKind::kInput, [&] {
      reconstruction.reconstruct(sinogram.view().bins_from(0, bins), tomogram.view());
    });
  };
  EXPECT_THAT(refused(Sinogram(4, 10, 2), 2), HasSubstr("4 angles and 10 positions, the scan 5 and 10"));
  EXPECT_THAT(refused(Sinogram(5, 10, 2), 0), HasSubstr("no bins"));
  EXPECT_THAT(refused(Sinogram(5, 10, 3), 3), HasSubstr("it has 2 bins, the sinogram 3"));
  Sinogram sinogram(5, 10, 2);
  sinogram.at(3, 7)[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refused(sinogram, 2), HasSubstr("angle 3, position 7, bin 1 is nan"));
  Tomogram other(11, 2);
  EXPECT_THAT(message_of(ErrorKind::kInput,
                         [&] { reconstruction.reconstruct(Sinogram(5, 10, 2).view(), other.view()); }),
              HasSubstr("11 x 11"));
}

TEST(Sinogram, RefusesWhatCannotBe) {
  EXPECT_THAT(message_of(ErrorKind::kInput, [] { Sinogram(0, 10, 1); }), HasSubstr("empty"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [] { Sinogram(10, 10, 0); }), HasSubstr("empty"));
  EXPECT_THAT(
      message_of(ErrorKind::kInput, [] { Sinogram(std::size_t{1} << 30, std::size_t{1} << 30, 100); }),
      HasSubstr("too many"));
  EXPECT_THAT(message_of(ErrorKind::kInput, [] { Tomogram(std::size_t{1} << 31, 100); }),
              HasSubstr("too many"));
}

}  // namespace
}  // namespace annulus
