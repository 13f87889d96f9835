// Simulated snapshots, correlated, against their average over all orientations: the difference is
// statistical, and falls as 1 / sqrt(N).
#include <annulus/correlation/correlator.hpp>

#include <gtest/gtest.h>
#include <tools/simulate/orientation_average.hpp>
#include <tools/simulate/polar_shots.hpp>

#include <cmath>
#include <numeric>

#include "sanitized.hpp"

namespace annulus {
namespace {

using testing::kSanitized;

constexpr PolarShape kShape{12, 32};
constexpr int kScale = 4;  // photons in sixteenths: rounding them is far below the statistics

FxsOptions many_shots(bool noiseless) {
  FxsOptions options;
  options.rings = kShape.rings;
  options.angles = kShape.angles;
  options.frames = 100000;
  options.q_range = {0.3, 2.5};
  options.photons = 30000;
  options.noiseless = noiseless;
  return options;
}

// Of shots [begin, end), means of rings subtracted.
LargeVector<double> correlation_of(const PolarShots& shots, std::uint64_t begin, std::uint64_t end) {
  const PolarQuantizer quantizer(kShape, kScale, {});
  Correlator correlator(kShape, kScale, {1, 0});
  IntegerImage integers;
  for (std::uint64_t i = begin; i < end; ++i) {
    const std::vector<float> image = shots.image(i);
    const std::vector<double> values(image.begin(), image.end());
    EXPECT_EQ(quantizer.quantize(values, integers), std::nullopt);
    correlator.add(integers.values);
  }
  return correlator.sums().normalized();
}

// With photon noise of a ring of mean m, products of a value with itself have m more, of which subtracting
// the ring's mean takes m / angles from all.
std::vector<double> expected_of(const PolarShots& shots) {
  const FxsSample& sample = shots.sample();
  const double photons = shots.photons_per_intensity();
  const OrientationAverage average(sample.particle(), sample.rings(), 1);
  std::vector<double> c2 = average.correlation(kShape.angles, sample.wavelength());
  for (std::size_t pair = 0; pair < kShape.pairs(); ++pair) {
    double* const values = c2.data() + pair * kShape.angles;
    const double level = std::accumulate(values, values + kShape.angles, 0.0) / kShape.angles;
    for (std::size_t d = 0; d < kShape.angles; ++d) values[d] = (values[d] - level) * photons * photons;
  }
  if (sample.options().noiseless) return c2;
  for (std::size_t ring = 0; ring < kShape.rings; ++ring) {
    const double mean = mean_intensity(sample.particle(), sample.rings()[ring]) * photons;
    double* const values = c2.data() + kShape.pair(ring, ring) * kShape.angles;
    values[0] += mean;
    for (std::size_t d = 0; d < kShape.angles; ++d) values[d] -= mean / kShape.angles;
  }
  return c2;
}

// Correlations of N shots each, of different shots, minus what is expected, relative to
// sqrt(C2(q, q, 0) C2(q', q', 0)).
std::vector<std::vector<double>> differences(const PolarShots& shots, std::uint64_t count, int repeats,
                                             std::uint64_t first) {
  const std::vector<double> expected = expected_of(shots);
  std::vector<std::vector<double>> all;
  for (int repeat = 0; repeat < repeats; ++repeat, first += count) {
    const LargeVector<double> found = correlation_of(shots, first, first + count);
    std::vector<double>& relative = all.emplace_back();
    for (std::size_t q = 0; q < kShape.rings; ++q) {
      for (std::size_t other = q; other < kShape.rings; ++other) {
        const double size = std::sqrt(expected[kShape.pair(q, q) * kShape.angles] *
                                      expected[kShape.pair(other, other) * kShape.angles]);
        for (std::size_t d = 0; d < kShape.angles; ++d) {
          const std::size_t place = kShape.pair(q, other) * kShape.angles + d;
          relative.push_back((found[place] - expected[place]) / size);
        }
      }
    }
  }
  return all;
}

double root_mean_square(const std::vector<std::vector<double>>& all) {
  double squares = 0;
  for (const std::vector<double>& values : all) {
    for (const double value : values) squares += value * value;
  }
  return std::sqrt(squares / static_cast<double>(all.size() * all.front().size()));
}

class FxsStatistics : public ::testing::TestWithParam<bool> {};

// The mean of many is as far from what is expected as their scatter says.
TEST_P(FxsStatistics, CorrelationIsTheOrientationAverageWithinItsStatisticalError) {
  const int repeats = kSanitized ? 12 : 40;
  const auto all = differences(PolarShots(many_shots(GetParam())), 100, repeats, 50000);
  double squares = 0;  // of the mean, in units of its error
  for (std::size_t place = 0; place < kShape.correlations(); ++place) {
    double sum = 0, square = 0;
    for (const std::vector<double>& one : all) {
      sum += one[place];
      square += one[place] * one[place];
    }
    const double mean = sum / repeats;
    squares += mean * mean / ((square / repeats - mean * mean) / (repeats - 1));
  }
  // Neighbouring values are not independent, so that this is no number near 1 but about as large.
  const double errors = std::sqrt(squares / static_cast<double>(kShape.correlations()));
  EXPECT_GT(errors, 0.6);
  EXPECT_LT(errors, 1.5);
}

TEST_P(FxsStatistics, CorrelationApproachesTheOrientationAverageAsOneOverTheRootOfN) {
  const PolarShots shots(many_shots(GetParam()));
  // Other shots for each N: the differences are independent.
  const int repeats = kSanitized ? 8 : 40;
  const double ten = root_mean_square(differences(shots, 10, repeats, 0));
  const double hundred = root_mean_square(differences(shots, 100, repeats, 2000));
  EXPECT_NEAR(std::log10(hundred / ten), -0.5, 0.07) << ten << " " << hundred;
  if (kSanitized) return;  // the rest takes the same paths, more often
  const double thousand = root_mean_square(differences(shots, 1000, 10, 10000));
  const double ten_thousand = root_mean_square(differences(shots, 10000, 4, 30000));
  EXPECT_NEAR(std::log10(thousand / ten), -1, 0.1) << ten << " " << thousand;
  EXPECT_NEAR(std::log10(ten_thousand / ten), -1.5, 0.15) << ten << " " << ten_thousand;
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutPhotonNoise, FxsStatistics, ::testing::Bool());

}  // namespace
}  // namespace annulus
