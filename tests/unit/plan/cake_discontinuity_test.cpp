// Pixels on the discontinuity of a cake whose azimuths end before the turn does: a mask, the edge of a
// detector or the gap between two modules leaves a hole beside the cut.
#include <annulus/plan/splitting.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "plan_fixtures.hpp"

namespace annulus::testing {
namespace {

struct HoleAtTheCut {
  std::string name;
  Shape shape{60, 80};
  Geometry geometry = small_geometry({60, 80});
  std::vector<std::uint8_t> excluded = std::vector<std::uint8_t>(60 * 80, 0);

  void exclude_rows(std::uint32_t begin, std::uint32_t end, std::uint32_t end_col) {
    for (std::uint32_t row = begin; row < end; ++row) {
      for (std::uint32_t col = 0; col < end_col; ++col) excluded[row * shape.cols + col] = 1;
    }
  }
};

// The cut runs from the beam to the left, between azimuths that grow to 180 degrees above (in rows beyond the
// beam's) and -180 degrees below.
std::vector<HoleAtTheCut> holes() {
  std::vector<HoleAtTheCut> cases;
  cases.push_back({"mask beside the cut, above"});
  cases.back().geometry.poni1 = 30.4e-4;  // row 30 lies on the cut, its middle above
  cases.back().exclude_rows(31, 50, 40);
  cases.push_back({"mask beside the cut, below"});
  cases.back().geometry.poni1 = 30.4e-4;
  cases.back().exclude_rows(10, 30, 40);
  cases.push_back({"detector on one side of the cut"});
  cases.back().geometry.poni1 = 0.4e-4;
  cases.push_back({"detector on the other side of the cut"});
  cases.back().geometry.poni1 = 59.6e-4;
  cases.push_back({"gap between modules above the cut"});
  cases.back().geometry.poni1 = 29.6e-4;  // row 29 lies on the cut, its middle below
  cases.back().exclude_rows(30, 34, 80);
  cases.push_back({"gap between modules below the cut"});
  cases.back().geometry.poni1 = 30.4e-4;
  cases.back().exclude_rows(26, 30, 80);
  return cases;
}

constexpr std::uint32_t kRadialBins = 50;

std::vector<BinAxis> axes_of(const HoleAtTheCut& hole, const PixelPositions& positions, Splitting splitting,
                             std::uint32_t azimuth_bins) {
  const Range radial = radial_extent(positions, splitting, hole.excluded, 1);
  const AzimuthExtent azimuth = azimuth_extent(positions, splitting, hole.excluded, 1);
  EXPECT_TRUE(azimuth.on_cut) << hole.name;
  return {{radial.low, radial.high * (1 + 0x1p-23), kRadialBins},
          {azimuth.range.low, azimuth.range.high, azimuth_bins, azimuth.on_cut}};
}

TEST(CakeDiscontinuity, SharesOfEveryPixelSumToOneBesideAHole) {
  for (const HoleAtTheCut& hole : holes()) {
    for (const Splitting splitting : {Splitting::kBoundingBox, Splitting::kFull}) {
      for (const std::uint32_t azimuth_bins : {1u, 7u, 36u, 720u}) {
        IntegrationOptions options;
        options.splitting = splitting;
        options.azimuth_bins = azimuth_bins;
        const PixelPositions positions = locate_pixels(hole.geometry, hole.shape, options, kDefaultCut, 1);
        const std::vector<BinAxis> axes = axes_of(hole, positions, splitting, azimuth_bins);
        const auto splitter = make_splitter(positions, axes, splitting);
        std::vector<Share> shares;
        for (std::uint32_t pixel = 0; pixel < hole.shape.size(); ++pixel) {
          if (hole.excluded[pixel]) continue;
          splitter->split(pixel / hole.shape.cols, pixel % hole.shape.cols, shares);
          double sum = 0;
          for (const Share& share : shares) sum += share.share;
          ASSERT_NEAR(sum, 1, 1e-9) << hole.name << ", " << name_of(splitting) << ", " << azimuth_bins
                                    << " azimuthal bins, row " << pixel / hole.shape.cols << ", column "
                                    << pixel % hole.shape.cols;
        }
      }
    }
  }
}

// Of [low, high], in bins, with what hangs over the ends in the end bins.
double overlap_with_bin(double low, double high, std::uint32_t bin, std::uint32_t bins) {
  const double from = bin == 0 ? -1e9 : bin, to = bin + 1 == bins ? 1e9 : bin + 1.0;
  return std::max(0.0, std::min(high, to) - std::max(low, from)) / (high - low);
}

TEST(CakeDiscontinuity, BoxesOnTheCutKeepTheirRadialShares) {
  for (const HoleAtTheCut& hole : holes()) {
    IntegrationOptions options;
    options.azimuth_bins = 36;
    const PixelPositions positions = locate_pixels(hole.geometry, hole.shape, options, kDefaultCut, 1);
    const std::vector<BinAxis> axes = axes_of(hole, positions, Splitting::kBoundingBox, 36);
    const auto splitter = make_splitter(positions, axes, Splitting::kBoundingBox);
    int on_cut = 0;
    for (std::uint32_t pixel = 0; pixel < hole.shape.size(); ++pixel) {
      const std::uint32_t row = pixel / hole.shape.cols, col = pixel % hole.shape.cols;
      const double azimuth = positions.azimuth[pixel], reach = positions.azimuth_reach(row, col);
      if (hole.excluded[pixel] ||
          (azimuth - reach >= -std::numbers::pi && azimuth + reach <= std::numbers::pi))
        continue;
      ++on_cut;
      std::vector<Share> shares;
      splitter->split(row, col, shares);
      std::vector<double> radial(kRadialBins, 0.0);
      for (const Share& share : shares) radial[share.bin % kRadialBins] += share.share;
      const double middle = positions.radial[pixel], half = positions.radial_reach(row, col);
      for (std::uint32_t bin = 0; bin < kRadialBins; ++bin) {
        EXPECT_NEAR(
            radial[bin],
            overlap_with_bin(axes[0].bin_of(middle - half), axes[0].bin_of(middle + half), bin, kRadialBins),
            1e-9)
            << hole.name << ", row " << row << ", column " << col << ", radial bin " << bin;
      }
    }
    EXPECT_GT(on_cut, 20) << hole.name;
  }
}

TEST(CakeDiscontinuity, WhatHangsOverAnAxisThatEndsFarFromTheTurnStaysAtItsEnd) {
  // The detector ends at the cut: its azimuths are half a turn, and behind the cut there is nothing.
  const HoleAtTheCut hole = holes()[2];
  IntegrationOptions options;
  options.azimuth_bins = 18;
  const PixelPositions positions = locate_pixels(hole.geometry, hole.shape, options, kDefaultCut, 1);
  const std::vector<BinAxis> axes = axes_of(hole, positions, Splitting::kBoundingBox, 18);
  const auto splitter = make_splitter(positions, axes, Splitting::kBoundingBox);
  std::vector<Share> shares;
  for (std::uint32_t col = 0; col < 30; ++col) {  // far enough from the beam to reach a bin at most
    splitter->split(0, col, shares);
    for (const Share& share : shares) EXPECT_GE(share.bin / kRadialBins, 16u) << "column " << col;
  }
}

TEST(CakeDiscontinuity, PlansOfSuchDetectorsAreBuilt) {
  for (const HoleAtTheCut& hole : holes()) {
    IntegrationOptions options;
    options.bins = 40;
    options.azimuth_bins = 36;
    PixelMaps maps;
    maps.mask = Mask{hole.shape, hole.excluded};
    EXPECT_NO_THROW(build_plan(hole.geometry, options, maps, {"test", hole.shape})) << hole.name;
  }
}

// Azimuthal bins, of 15 degrees from -180 on, in which a pixel has shares.
std::pair<std::uint32_t, std::uint32_t> azimuths_of(const Plan& plan, std::uint32_t row, std::uint32_t col) {
  const std::size_t pixel = row * plan.shape.cols + col;
  std::uint32_t low = 24, high = 0;
  for (std::uint32_t entry = plan.matrix.first[pixel]; entry < plan.matrix.first[pixel + 1]; ++entry) {
    const auto bin = static_cast<std::uint32_t>(plan.matrix.bin[entry] / plan.radial().bins());
    low = std::min(low, bin);
    high = std::max(high, bin);
  }
  return {low, high};
}

Plan full_cake(const Geometry& geometry, int discontinuity) {
  IntegrationOptions options;
  options.splitting = Splitting::kFull;
  options.bins = 15;
  options.azimuth_bins = 24;
  options.chi_discontinuity = discontinuity;
  options.azimuth_range = discontinuity == 0 ? Range{0, 360} : Range{-180, 180};
  return build_plan(geometry, options, {}, {"test", Shape{20, 30}});
}

using Bins = std::pair<std::uint32_t, std::uint32_t>;

TEST(BeamOnThePixelGrid, PixelsBesideAnEdgeThroughTheBeamSeeHalfATurn) {
  Geometry geometry = small_geometry({20, 30});
  for (const double pixel : {1e-4, 1.72e-4, 7.5e-5}) {  // other roundings of the same place
    geometry.detector.pixel1 = geometry.detector.pixel2 = pixel;
    geometry.poni1 = 10 * pixel;
    geometry.poni2 = 15.4 * pixel;
    EXPECT_EQ(azimuths_of(full_cake(geometry, 180), 10, 15), Bins(12, 23)) << pixel;
    EXPECT_EQ(azimuths_of(full_cake(geometry, 180), 9, 15), Bins(0, 11)) << pixel;
    EXPECT_EQ(azimuths_of(full_cake(geometry, 0), 10, 15), Bins(0, 11)) << pixel;
    EXPECT_EQ(azimuths_of(full_cake(geometry, 0), 9, 15), Bins(12, 23)) << pixel;
  }
}

TEST(BeamOnThePixelGrid, PixelsBesideACornerAtTheBeamSeeTheirQuadrant) {
  for (const double pixel : {1e-4, 1.72e-4, 7.5e-5}) {
    Geometry geometry = small_geometry({20, 30});
    geometry.detector.pixel1 = geometry.detector.pixel2 = pixel;
    geometry.poni1 = 10 * pixel;
    geometry.poni2 = 15 * pixel;
    EXPECT_EQ(azimuths_of(full_cake(geometry, 180), 10, 15), Bins(12, 17)) << pixel;
    EXPECT_EQ(azimuths_of(full_cake(geometry, 180), 10, 14), Bins(18, 23)) << pixel;
    EXPECT_EQ(azimuths_of(full_cake(geometry, 180), 9, 14), Bins(0, 5)) << pixel;
    EXPECT_EQ(azimuths_of(full_cake(geometry, 180), 9, 15), Bins(6, 11)) << pixel;
  }
}

TEST(BeamOnThePixelGrid, ThePixelThatHoldsTheBeamSeesAllAzimuths) {
  Geometry geometry = small_geometry({20, 30});
  for (const double beside : {0.5, 0.01, 0.001}) {  // of a pixel, from its edge
    geometry.poni1 = (10 + beside) * 1e-4;
    geometry.poni2 = 15.4e-4;
    EXPECT_EQ(azimuths_of(full_cake(geometry, 180), 10, 15), Bins(0, 23)) << beside;
  }
}

}  // namespace
}  // namespace annulus::testing
