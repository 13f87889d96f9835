#include <annulus/backends/cpu/cpu_reducer.hpp>
#include <annulus/core/error.hpp>

#include <gtest/gtest.h>

#include <random>

#include "naive_robust.hpp"
#include "plan_fixtures.hpp"
#include "sanitized.hpp"
#include "test_frames.hpp"

namespace annulus::testing {
namespace {

Recipe random_robust_recipe(std::mt19937_64& random) {
  Recipe recipe;
  recipe.error_model = std::array{ErrorModel::kNone, ErrorModel::kPoisson, ErrorModel::kAzimuthal,
                                  ErrorModel::kHybrid}[random() % 4];
  switch (random() % 5) {
    case 0:
      break;
    case 1:
      recipe.clip.method = ClipMethod::kMedian;
      break;
    case 2:
      recipe.clip.method = ClipMethod::kQuantiles;
      recipe.clip.quantiles =
          std::array{Range{0, 0}, Range{0.1, 0.9}, Range{0.25, 0.25}, Range{1, 1}, Range{0, 1}}[random() % 5];
      break;
    default:
      recipe.clip.method = ClipMethod::kSigma;
      recipe.clip.threshold = 0.5 + static_cast<double>(random() % 60) / 10;
      recipe.clip.cycles = 1 + static_cast<unsigned>(random() % 7);
  }
  if (!recipe.has_clip()) recipe.spottiness = random() % 2 == 0;
  if (recipe.beyond_sums().empty()) recipe.error_model = ErrorModel::kAzimuthal;
  return recipe;
}

// Smooth counts with noise, hot pixels up to what the type can hold, marked pixels; sometimes few values
// differ.
std::vector<std::int64_t> spotty_pixels(std::mt19937_64& random, PixelType type, std::size_t count) {
  std::vector<std::int64_t> pixels(count);
  const auto level = static_cast<std::int64_t>(random() % 3 == 0 ? 1 : random() % 90);
  const auto hot = 2 + random() % 400;
  visit_pixel_type(type, [&](auto zero) {
    for (std::int64_t& pixel : pixels) {
      std::int64_t value = level + static_cast<std::int64_t>(random() % 11);
      const auto kind = random() % hot;
      if (kind == 0) value = static_cast<std::int64_t>(random() >> random() % 64);
      if (kind == 1) value = -2;
      pixel = static_cast<std::int64_t>(static_cast<decltype(zero)>(value));
    }
  });
  return pixels;
}

struct RandomScan {
  Job job;
  PixelType type;
  Shape shape;
};

std::optional<RandomScan> random_scan(std::mt19937_64& random, int round) {
  constexpr PixelType kTypes[] = {PixelType::kU8, PixelType::kU16, PixelType::kU32,
                                  PixelType::kI8, PixelType::kI16, PixelType::kI32};
  const std::uint32_t largest = round % 4 == 0 ? 180 : 60;
  const Shape shape{1 + static_cast<std::uint32_t>(random() % largest),
                    1 + static_cast<std::uint32_t>(random() % largest)};
  const PixelType type = kTypes[random() % 6];
  Geometry geometry = random_geometry(random, shape);
  geometry.detector.dectris = random() % 2 == 0;
  IntegrationOptions options = random_options(random);
  if (random() % 4 == 0) options.max_count = 1000;
  PixelMaps maps;
  if (random() % 3 == 0) {
    maps.dark = Image<double>{shape, std::vector<double>(shape.size())};
    const bool whole = random() % 2 == 0;
    for (double& dark : maps.dark->pixels) {
      dark = std::normal_distribution<double>(2, 1)(random);
      if (whole) dark = std::round(dark);
    }
  }
  if (random() % 3 == 0) {
    maps.flat = Image<double>{shape, std::vector<double>(shape.size())};
    for (double& flat : maps.flat->pixels) flat = std::uniform_real_distribution<double>(0.3, 1.5)(random);
  }
  try {
    const auto plan =
        std::make_shared<const Plan>(build_plan(geometry, options, maps, {"test", shape, type}, 1));
    return RandomScan{make_job(plan, random_robust_recipe(random)), type, shape};
  } catch (const Error&) {
    return std::nullopt;  // a random window that misses the detector
  }
}

TEST(RobustSums, EqualTheDefinitionForRandomPlansTypesAndRecipes) {
  std::mt19937_64 random(31);
  int compared = 0, clipped = 0, emptied = 0;
  for (int round = 0; round < (kSanitized ? 40 : 200); ++round) {
    auto scan = random_scan(random, round);
    if (!scan) continue;
    scan->job.list_outliers = random() % 2 == 0;
    std::vector<Frame> frames;
    std::vector<Sums> expected;
    const std::size_t count = 1 + random() % (scan->shape.size() > 4000 ? 6 : 25);
    for (std::size_t i = 0; i < count; ++i) {
      const auto pixels = spotty_pixels(random, scan->type, scan->shape.size());
      frames.push_back(raw_frame(scan->shape, scan->type, pixels));
      expected.push_back(NaiveRobust(scan->job, pixels, 0).reduce());
    }
    const auto shared = make_cpu_plan(scan->job, 1);
    for (const InstructionSet set : available_instruction_sets()) {
      CpuReducer reducer(shared, set);
      for (int again = 0; again < 2; ++again) {
        const std::size_t batch = scan->job.recipe.clip.by_rank() ? 1
                                  : again == 0                    ? count
                                                                  : 1 + random() % count;
        for (std::size_t first = 0; first < count; first += batch) {
          const auto end = std::min(count, first + batch);
          const auto results = reducer.reduce({frames.begin() + static_cast<std::ptrdiff_t>(first),
                                               frames.begin() + static_cast<std::ptrdiff_t>(end)});
          for (std::size_t i = first; i < end; ++i) {
            ASSERT_TRUE(results[i - first].good());
            const Sums& found = results[i - first].sums();
            for (const Quantity quantity : all_quantities()) {
              ASSERT_TRUE(std::ranges::equal(found[quantity], expected[i][quantity]))
                  << "round " << round << ", frame " << i << " of " << count << ", " << name_of(set)
                  << ", quantity " << static_cast<int>(quantity) << ", model "
                  << name_of(scan->job.recipe.error_model) << ", clip "
                  << name_of(scan->job.recipe.clip.method);
            }
            ASSERT_EQ(found, expected[i]) << "round " << round;
          }
        }
      }
    }
    for (const Sums& sums : expected) {
      ++compared;
      for (const std::int64_t number : sums[Quantity::kClipped]) clipped += number > 0;
      for (const std::int64_t number : sums[Quantity::kEmptied]) emptied += number > 0;
    }
  }
  EXPECT_GT(compared, kSanitized ? 100 : 500);
  EXPECT_GT(clipped, 1000);
  EXPECT_GT(emptied, 0);
}

}  // namespace
}  // namespace annulus::testing
