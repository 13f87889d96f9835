#include <annulus/core/error.hpp>
#include <annulus/engine/integrator.hpp>
#include <annulus/plan/csr_view.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "plan_fixtures.hpp"
#include "test_frames.hpp"

namespace annulus::testing {
namespace {

constexpr Shape kShape{30, 30};

Frame float_frame(const std::vector<float>& pixels) {
  Frame frame = raw_frame(kShape, PixelType::kI32, {});
  frame.type = PixelType::kF32;
  std::vector<std::byte> bytes(pixels.size() * sizeof(float));
  std::memcpy(bytes.data(), pixels.data(), bytes.size());
  frame.payload = Bytes(std::move(bytes));
  return frame;
}

IntegrationOptions few_bins() {
  IntegrationOptions options;
  options.bins = 20;
  options.solid_angle = false;
  return options;
}

const Recipe kPoisson{ErrorModel::kPoisson};

TEST(Integrator, FlatImageGivesItsValueInEveryBin) {
  Integrator integrator(small_geometry(kShape), few_bins(), {"test", kShape}, {}, kPoisson);
  const Pattern pattern =
      integrator.integrate(raw_frame(kShape, PixelType::kI32, std::vector<std::int64_t>(900, 17)));
  for (const double intensity : pattern.intensity) EXPECT_EQ(intensity, 17.0);
}

TEST(Integrator, TheFactorOfAFrameDividesItsPattern) {
  Integrator integrator(small_geometry(kShape), few_bins(), {"test", kShape}, {}, kPoisson);
  const Frame frame = raw_frame(kShape, PixelType::kI32, std::vector<std::int64_t>(900, 16));
  const Pattern whole = integrator.integrate(frame), quarter = integrator.integrate(frame, 4);
  for (std::size_t bin = 0; bin < 20; ++bin) {
    EXPECT_EQ(quarter.intensity[bin], 4);
    EXPECT_EQ(quarter.error[bin], whole.error[bin] / 4);
  }
}

TEST(Integrator, RefusesARecipeOfMoreThanSums) {
  Recipe recipe;
  recipe.clip.method = ClipMethod::kSigma;
  EXPECT_THROW(Integrator(small_geometry(kShape), few_bins(), {"test", kShape}, {}, recipe), Error);
}

TEST(Integrator, MakesCakesOfAzimuthTimesRadius) {
  IntegrationOptions options = few_bins();
  options.azimuth_bins = 6;
  Integrator integrator(small_geometry(kShape), options, {"test", kShape});
  ASSERT_EQ(integrator.plan().axes.at(1).bins(), 6u);
  // Rows above the beam are at positive azimuths.
  std::vector<std::int64_t> pixels(900, 5);
  std::fill(pixels.begin() + 450, pixels.end(), 11);
  const Pattern cake = integrator.integrate(raw_frame(kShape, PixelType::kI32, pixels));
  ASSERT_EQ(cake.intensity.size(), 120u);
  for (std::size_t radial = 5; radial < 15; ++radial) {
    EXPECT_NEAR(cake.intensity[1 * 20 + radial], 5, 1e-9) << radial;   // -120 to -60
    EXPECT_NEAR(cake.intensity[4 * 20 + radial], 11, 1e-9) << radial;  // 60 to 120
  }
}

TEST(Integrator, FloatFramesAreWeightedMeansToTheirPrecision) {
  std::mt19937_64 random(51);
  std::vector<float> pixels(900);
  for (float& pixel : pixels) pixel = std::uniform_real_distribution<float>(-3, 90)(random);
  pixels[100] = std::numeric_limits<float>::quiet_NaN();
  pixels[200] = std::numeric_limits<float>::infinity();
  Integrator integrator(small_geometry(kShape), few_bins(), {"test", kShape, PixelType::kF32}, {}, kPoisson);
  const Plan& plan = integrator.plan();
  const Sums sums = integrator.accumulate(float_frame(pixels));
  EXPECT_EQ(sums.invalid_pixels, 2u);
  const Pattern pattern = normalise(plan, sums);
  std::vector<double> signal(20), variance(20), count(20);
  for (std::size_t pixel = 0; pixel < 900; ++pixel) {
    if (!std::isfinite(pixels[pixel])) continue;
    for (auto entry = plan.matrix.first[pixel]; entry < plan.matrix.first[pixel + 1]; ++entry) {
      const double share = std::ldexp(plan.matrix.weight[entry], -plan.weight_bits);
      signal[plan.matrix.bin[entry]] += share * pixels[pixel];
      variance[plan.matrix.bin[entry]] += share * share * std::max(1.0f, pixels[pixel]);
      count[plan.matrix.bin[entry]] += share;
    }
  }
  for (std::size_t bin = 0; bin < 20; ++bin) {
    EXPECT_NEAR(pattern.intensity[bin], signal[bin] / count[bin], 1e-6);
    EXPECT_NEAR(pattern.error[bin], std::sqrt(variance[bin]) / count[bin], 1e-4);
  }
}

TEST(Integrator, SmallFloatsKeepTheirPrecisionAndAnErrorOfAtLeastOneCount) {
  const std::vector<float> pixels(900, 1.0f / 300);
  IntegrationOptions options = few_bins();
  Integrator poisson(small_geometry(kShape), options, {"test", kShape, PixelType::kF32}, {}, kPoisson);
  Integrator plain(small_geometry(kShape), options, {"test", kShape, PixelType::kF32});
  const Pattern with_errors = poisson.integrate(float_frame(pixels));
  const Pattern without = plain.integrate(float_frame(pixels));
  const CsrView shares = csr_by_bin(poisson.plan());
  for (std::size_t bin = 0; bin < 20; ++bin) {
    EXPECT_NEAR(without.intensity[bin], pixels[0], 1e-12);
    EXPECT_NEAR(with_errors.intensity[bin], pixels[0], 1e-9);
    double squares = 0, count = 0;
    for (auto entry = shares.indptr[bin]; entry < shares.indptr[bin + 1]; ++entry) {
      squares += shares.data[entry] * shares.data[entry];
      count += shares.data[entry];
    }
    EXPECT_NEAR(with_errors.error[bin], std::sqrt(squares) / count, 1e-5);
  }
  const Frame tiny = float_frame(std::vector<float>(900, 1e-6f));
  EXPECT_NEAR(plain.integrate(tiny).intensity[3], 1e-6, 1e-14);
  EXPECT_THROW(poisson.integrate(tiny), Error) << "counting statistics of a millionth of a count";
}

TEST(Integrator, RefusesFramesOfAnotherShapeOrTypeAndDamagedOnes) {
  Integrator integrator(small_geometry(kShape), few_bins(), {"test", kShape}, {}, kPoisson);
  EXPECT_THROW(integrator.integrate(float_frame(std::vector<float>(900))), Error);
  EXPECT_THROW(integrator.integrate(raw_frame({10, 90}, PixelType::kI32, std::vector<std::int64_t>(900))),
               Error);
  EXPECT_THROW(integrator.integrate(raw_frame(kShape, PixelType::kI32, std::vector<std::int64_t>(899))),
               Error);
}

}  // namespace
}  // namespace annulus::testing
