#include <gtest/gtest.h>
#include <tools/simulate/poisson.hpp>

#include <cmath>
#include <limits>
#include <map>

namespace annulus {
namespace {

constexpr int kDraws = 200000;

std::map<std::int64_t, int> histogram(double mean, std::uint64_t seed) {
  std::map<std::int64_t, int> counts;
  const std::uint64_t key = CounterRandom::key(seed, 5);
  for (std::uint64_t pixel = 0; pixel < kDraws; ++pixel) {
    CounterRandom random(key, pixel);
    ++counts[PoissonSampler::instance().draw(mean, random)];
  }
  return counts;
}

double probability(double mean, std::int64_t k) {
  return std::exp(static_cast<double>(k) * std::log(mean) - mean - std::lgamma(static_cast<double>(k) + 1));
}

class PoissonMean : public ::testing::TestWithParam<double> {};

TEST_P(PoissonMean, AndVarianceOfManyDrawsAreThatOfTheDistribution) {
  const double mean = GetParam();
  double sum = 0;
  double squares = 0;
  for (const auto& [k, n] : histogram(mean, 11)) {
    const double difference = static_cast<double>(k) - mean;
    sum += n * difference;
    squares += n * difference * difference;
  }
  // Standard deviations of the two estimates; the fourth central moment is mean + 3 mean^2.
  const double of_mean = std::sqrt(mean / kDraws);
  const double of_variance = std::sqrt((mean + 2 * mean * mean) / kDraws);
  EXPECT_NEAR(sum / kDraws, 0, 4 * of_mean);
  EXPECT_NEAR(squares / kDraws, mean, 4 * of_variance);
}

TEST_P(PoissonMean, PassesAChiSquareTestAgainstTheExactProbabilities) {
  const double mean = GetParam();
  const std::map<std::int64_t, int> counts = histogram(mean, 12);
  const double sigma = std::sqrt(mean);
  const auto low = static_cast<std::int64_t>(std::fmax(0, std::floor(mean - 8 * sigma - 2)));
  const auto high = static_cast<std::int64_t>(mean + 8 * sigma + 30);
  double chi_square = 0;
  int cells = 0;
  double expected = 0;  // of the cell being filled: neighbours are joined until it has 25
  double got = 0;
  double left = kDraws;
  int got_left = kDraws;
  for (std::int64_t k = low; k <= high; ++k) {
    expected += kDraws * probability(mean, k);
    const auto found = counts.find(k);
    got += found == counts.end() ? 0 : found->second;
    if (expected < 25 || left - expected < 25) continue;
    chi_square += (got - expected) * (got - expected) / expected;
    ++cells;
    left -= expected;
    got_left -= static_cast<int>(got);
    expected = got = 0;
  }
  chi_square += (got_left - left) * (got_left - left) / left;
  EXPECT_LT(chi_square, cells + 4 * std::sqrt(2.0 * cells) + 8) << cells << " degrees of freedom";
  EXPECT_TRUE(counts.begin()->first >= low && counts.rbegin()->first <= high);
}

INSTANTIATE_TEST_SUITE_P(Sampler, PoissonMean,
                         ::testing::Values(0.01, 0.0625, 0.4, 1.0, 3.7, 9.97, 15.99, 16.0, 16.05, 40.3, 127.6,
                                           640.031, 1999.9, 4095.99, 4096.0, 5000.5, 70000.2, 1e6));

TEST(Poisson, MeansThatAreNotPositiveGiveZero) {
  for (const double mean : {0.0, -3.0, std::numeric_limits<double>::quiet_NaN()}) {
    CounterRandom random(1, 2);
    EXPECT_EQ(PoissonSampler::instance().draw(mean, random), 0) << mean;
  }
}

TEST(Poisson, HugeMeansEnd) {
  CounterRandom random(1, 2);
  const double mean = 0x1p40;
  EXPECT_NEAR(static_cast<double>(PoissonSampler::instance().draw(mean, random)), mean, 6 * std::sqrt(mean));
  EXPECT_GT(PoissonSampler::instance().draw(std::numeric_limits<double>::infinity(), random), 0);
}

// Published outputs of splitmix64 from state 1234567: the stream is that generator.
TEST(CounterRandom, ScramblesLikeSplitmix64) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
  EXPECT_EQ(scramble(1234567 + kGolden), 6457827717110365317u);
  EXPECT_EQ(scramble(1234567 + 2 * kGolden), 3203168211198807973u);
  EXPECT_EQ(scramble(1234567 + 3 * kGolden), 9817491932198370423u);
}

TEST(CounterRandom, NeighbouringStreamsAreNotCorrelated) {
  double product = 0;
  constexpr int kPairs = 100000;
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    CounterRandom pixel(CounterRandom::key(1, 0), i);
    CounterRandom next_pixel(CounterRandom::key(1, 0), i + 1);
    CounterRandom next_frame(CounterRandom::key(1, 1), i);
    CounterRandom next_seed(CounterRandom::key(2, 0), i);
    const double u = pixel.uniform() - 0.5;
    product +=
        u * (next_pixel.uniform() - 0.5) + u * (next_frame.uniform() - 0.5) + u * (next_seed.uniform() - 0.5);
  }
  // Each product of two uniforms has a standard deviation of 1/12.
  EXPECT_NEAR(product, 0, 4 * std::sqrt(3.0 * kPairs) / 12);
}

}  // namespace
}  // namespace annulus
