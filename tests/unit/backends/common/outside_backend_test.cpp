#include "outside_backend.hpp"

#include <annulus/backends/registry.hpp>
#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "naive_reduction.hpp"
#include "plan_fixtures.hpp"
#include "results.hpp"
#include "test_frames.hpp"

namespace annulus::testing {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Backend> make_outside_backend(const BackendOptions& options) {
  return make_threaded_backend(
      {"outside", [threads = options.threads](const Job& job) -> LoadedJob {
         if (job.recipe.has_variance()) throw Error(ErrorKind::kBackend, "outside", "it cannot do errors");
         return {[job] { return std::make_unique<OutsideReducer>(job); }, threads, 2};
       }});
}

// Once for all tests: what is registered stays.
void register_outside_backend() {
  static const bool once = [] {
    register_backend({"outside",
                      [] {
                        return BackendDescription{"outside", true, "a test"};
                      },
                      make_outside_backend});
    return true;
  }();
  EXPECT_TRUE(once);
}

Job small_job(Shape shape) {
  IntegrationOptions options;
  options.bins = 20;
  options.max_count = 90;  // so that some pixels are invalid
  return {std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape}))};
}

TEST(OutsideBackend, IsKnownByItsNameAndMakesTheSameSums) {
  register_outside_backend();
  const Shape shape{30, 40};
  const Job job = small_job(shape);
  std::mt19937_64 random(71);
  std::vector<Frame> frames;
  std::vector<Sums> expected;
  for (std::uint64_t i = 0; i < 7; ++i) {
    const auto pixels = random_pixels(random, PixelType::kI32, shape.size());
    frames.push_back(byte_offset_frame(shape, pixels));
    frames.back().id.index = i;
    expected.push_back(reduce_naively(*job.plan, pixels, 0));
  }
  frames[4].payload = frames[4].payload.slice(0, 10);
  const auto results = reduce_by(*make_backend("outside", {3}), job, frames);
  ASSERT_EQ(results.size(), frames.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].id.index, i);
    ASSERT_EQ(results[i].good(), i != 4) << results[i].fault();
    if (i == 4) continue;
    EXPECT_EQ(results[i].sums(), expected[i]) << i;
    EXPECT_GT(results[i].sums().invalid_pixels, 0u);
  }
}

TEST(OutsideBackend, IsListedAndRefusesWhatItCannotDo) {
  register_outside_backend();
  const auto known = describe_backends();
  EXPECT_EQ(std::ranges::count(known, "outside", &BackendDescription::name), 1);
  Job job = small_job({10, 10});
  job.recipe.error_model = ErrorModel::kPoisson;
  EXPECT_THROW(make_backend("outside", {1})->load(job), Error);
  EXPECT_THROW(register_backend({"cpu", describe_cpu_backend, make_outside_backend}), Error);
}

std::string refusal(const std::string& name, const BackendOptions& options) {
  try {
    check_options(name, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THROW(make_backend(name, options), Error);
    return error.what();
  }
  return "no error";
}

TEST(BackendOptions, ThoseOfAnotherBackendAreRefused) {
  register_outside_backend();
  BackendOptions options;
  for (const char* const name : {"cpu", "model", "xrt", "opencl", "outside"})
    EXPECT_EQ(refusal(name, options), "no error") << name;
  options.cpu.latency = true;
  EXPECT_EQ(refusal("cpu", options), "no error");
  for (const char* const name : {"model", "xrt", "opencl", "outside"})
    EXPECT_THAT(refusal(name, options), HasSubstr("`latency`")) << name;
  options = {};
  options.opencl.profile = true;
  EXPECT_THAT(refusal("cpu", options), HasSubstr("choose `backend` opencl"));
  options = {};
  options.xrt.device_timeout = 5;
  EXPECT_THAT(refusal("model", options), HasSubstr("`device_timeout`"));
  options = {};
  options.device = "1";
  EXPECT_THAT(refusal("cpu", options), HasSubstr("`device`"));
  EXPECT_THAT(refusal("outside", options), HasSubstr("`device`"));
  EXPECT_EQ(refusal("opencl", options), "no error");
  EXPECT_EQ(refusal("xrt", options), "no error");
}

TEST(BackendOptions, ValuesThatMakeNoSenseAreRefused) {
  BackendOptions options;
  options.cpu.batch = 257;
  EXPECT_THAT(refusal("cpu", options), HasSubstr("257 frames"));
  options.cpu.batch = 2;
  options.cpu.latency = true;
  EXPECT_THAT(refusal("cpu", options), HasSubstr("one by one"));
  options.cpu = {};
  options.cpu.instruction_set = "mmx";
  EXPECT_THAT(refusal("cpu", options), HasSubstr("'mmx' is not available here"));
  options = {};
  options.xrt.device_timeout = 0;
  EXPECT_THAT(refusal("xrt", options), HasSubstr("0 s is not sensible"));
  options = {};
  options.opencl.device_memory = std::uint64_t{1} << 40;
  EXPECT_THAT(refusal("opencl", options), HasSubstr("not sensible"));
}

}  // namespace
}  // namespace annulus::testing
