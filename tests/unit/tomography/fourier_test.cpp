// Band-limited interpolation, by the direct way and by Fourier transforms.
#include <annulus/tomography/filter.hpp>
#include <annulus/tomography/filtered_back_projection.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <limits>

#include "message_of.hpp"
#include "phantom.hpp"

namespace annulus {
namespace {

using ::testing::HasSubstr;

FbpOptions band_limited(FbpWay way, Filter filter = Filter::kRamp) {
  FbpOptions options;
  options.interpolation = Interpolation::kBandLimited;
  options.way = way;
  options.filter = filter;
  return options;
}

// From the furthest value that is interpolated with to the furthest position.
std::size_t reach_in(const ScanGeometry& scan) {
  const ProjectionRange range(scan.axis, scan.positions, 3);
  const std::ptrdiff_t last = range.first + static_cast<std::ptrdiff_t>(range.count) - 1;
  return static_cast<std::size_t>(
      std::max(last, static_cast<std::ptrdiff_t>(scan.positions) - 1 - range.first));
}

// The definition, term by term: the tomogram of one bin in double precision.
std::vector<double> by_definition(const ScanGeometry& scan, const Sinogram& sinogram,
                                  const FbpOptions& options) {
  const std::size_t size = scan.positions, length = band_length(reach_in(scan));
  const std::vector<double> filter = filter_spectrum(options.filter, length);
  const std::vector<double> weights = weigh_angles(scan.angles, options.weighting).weights;
  const auto frequency = [&](std::size_t j) {
    return 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(length);
  };
  const Circle circle(size);
  std::vector<double> tomogram(size * size);
  for (std::size_t angle = 0; angle < scan.angles.size(); ++angle) {
    std::vector<std::complex<double>> spectrum(length / 2 + 1);
    for (std::size_t j = 0; j <= length / 2; ++j) {
      for (std::size_t k = 0; k < size; ++k) {
        const double value = sinogram.at(angle, k)[0];
        spectrum[j] += value * std::polar(1.0, -frequency(j) * static_cast<double>(k));
      }
      const double twice = j == 0 || j == length / 2 ? 1 : 2;
      spectrum[j] *= twice * filter[j] * weights[angle] / 2 / static_cast<double>(length);
    }
    for (std::size_t y = 0; y < size; ++y) {
      for (std::size_t x = circle.row(y).begin; x < circle.row(y).end; ++x) {
        const double dx = static_cast<double>(x) - static_cast<double>(size / 2);
        const double dy = static_cast<double>(y) - static_cast<double>(size / 2);
        const double t = dx * std::cos(scan.angles[angle]) - dy * std::sin(scan.angles[angle]) + scan.axis;
        for (std::size_t j = 0; j <= length / 2; ++j) {
          tomogram[y * size + x] += (spectrum[j] * std::polar(1.0, frequency(j) * t)).real();
        }
      }
    }
  }
  return tomogram;
}

template <typename Expected>
double largest_deviation(const Tomogram& found, const Expected& expected, std::size_t bin = 0) {
  double deviation = 0, largest = 0;
  for (std::size_t pixel = 0; pixel < found.size * found.size; ++pixel) {
    const double value = expected(pixel);
    const double off = std::abs(found.values[pixel * found.bins + bin] - value);
    deviation = std::isnan(off) ? std::numeric_limits<double>::infinity() : std::max(deviation, off);
    largest = std::max(largest, std::abs(value));
  }
  return deviation / largest;
}

TEST(BandLimited, BothWaysAreTheDefinition) {
  for (const Filter filter :
       {Filter::kRamp, Filter::kSheppLogan, Filter::kCosine, Filter::kHann, Filter::kNone}) {
    const ScanGeometry scan{{0.1, 0.9, 1.4, 1.6, 2.7, 3.3, 4.6}, 25, 11.6};
    const Sinogram sinogram = random_sinogram(7, 25, 1, 3);
    const std::vector<double> expected = by_definition(scan, sinogram, band_limited(FbpWay::kDirect, filter));
    for (const FbpWay way : {FbpWay::kDirect, FbpWay::kFourier}) {
      const Tomogram found = reconstruct(scan, sinogram, band_limited(way, filter));
      EXPECT_LT(largest_deviation(found, [&](std::size_t pixel) { return expected[pixel]; }), 1e-5)
          << name_of(way) << ", " << name_of(filter);
    }
  }
}

TEST(BandLimited, TheFourierWayIsTheDirectOne) {
  struct Case {
    std::size_t angles, positions, bins;
    double axis, turn;
  };
  for (const Case& each :
       {Case{181, 180, 3, 90, std::numbers::pi}, Case{90, 101, 17, 47.3, 2 * std::numbers::pi},
        Case{30, 64, 2, 40, 2.2}, Case{2, 8, 1, 3.5, std::numbers::pi}}) {
    const ScanGeometry scan{even_angles(each.angles, each.turn), each.positions, each.axis};
    const Sinogram sinogram = random_sinogram(each.angles, each.positions, each.bins, 5);
    const Tomogram direct = reconstruct(scan, sinogram, band_limited(FbpWay::kDirect));
    const Tomogram fourier = reconstruct(scan, sinogram, band_limited(FbpWay::kFourier));
    for (std::size_t bin = 0; bin < each.bins; ++bin) {
      const auto expected = [&](std::size_t pixel) { return direct.values[pixel * each.bins + bin]; };
      EXPECT_LT(largest_deviation(fourier, expected, bin), 1e-5)
          << each.positions << " positions, bin " << bin;
    }
  }
}

TEST(BandLimited, FindsDiscs) {
  const std::vector<Disc> discs = {{0, 0, 14, 1}, {-22, 13, 8, 2.5}, {17, 24, 6, 0.7}, {5, -27, 9, 1.4}};
  const ScanGeometry scan{even_angles(181, std::numbers::pi), 101, 51.3};
  const Tomogram tomogram =
      reconstruct(scan, scan_discs(discs, scan), band_limited(FbpWay::kFourier, Filter::kHann));
  for (const Disc& disc : discs) {
    const FoundDisc found = find_disc(tomogram, disc);
    EXPECT_NEAR(found.x, disc.x, 0.1);
    EXPECT_NEAR(found.y, disc.y, 0.1);
    EXPECT_NEAR(found.density, disc.density, 0.02 * disc.density);
  }
}

TEST(BandLimited, GivesTheSameBytesForEveryNumberOfThreads) {
  const ScanGeometry scan{even_angles(20, std::numbers::pi), 40, 18.7};
  const Sinogram sinogram = random_sinogram(20, 40, 70, 6);
  for (const FbpWay way : {FbpWay::kDirect, FbpWay::kFourier}) {
    FbpOptions options = band_limited(way);
    options.threads = 1;
    options.instruction_set = InstructionSet::kGeneric;
    const Tomogram expected = reconstruct(scan, sinogram, options);
    for (const InstructionSet set : available_instruction_sets()) {
      for (const unsigned threads : {1U, 3U, 7U}) {
        options.threads = threads;
        options.instruction_set = set;
        const Tomogram found = reconstruct(scan, sinogram, options);
        EXPECT_EQ(
            std::memcmp(found.values.data(), expected.values.data(), found.values.size() * sizeof(float)), 0)
            << name_of(way) << ", " << name_of(set) << ", " << threads << " threads";
      }
    }
  }
}

TEST(BandLimited, AFixedRuleChoosesTheWay) {
  FbpOptions options;
  const auto way = [&](std::size_t positions) {
    return FilteredBackProjection({{0, 1, 2}, positions, 3}, options).way();
  };
  EXPECT_EQ(way(1000), FbpWay::kDirect);
  options.interpolation = Interpolation::kBandLimited;
  EXPECT_EQ(way(kFourierFrom - 1), FbpWay::kDirect);
  EXPECT_EQ(way(kFourierFrom), FbpWay::kFourier);
  options.way = FbpWay::kDirect;
  EXPECT_EQ(way(kFourierFrom), FbpWay::kDirect);
  options = {};
  options.way = FbpWay::kFourier;
  EXPECT_THAT(message_of(ErrorKind::kUsage, [&] { way(20); }), HasSubstr("`way`"));
}

}  // namespace
}  // namespace annulus
