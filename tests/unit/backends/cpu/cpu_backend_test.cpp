#include <annulus/backends/cpu/cpu_reducer.hpp>
#include <annulus/backends/registry.hpp>
#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "naive_reduction.hpp"
#include "plan_fixtures.hpp"
#include "results.hpp"
#include "test_frames.hpp"

namespace annulus::testing {
namespace {

struct Scan {
  Shape shape{30, 40};
  Job job;
  std::vector<std::vector<std::int64_t>> pixels;

  Sums expected(const std::vector<std::int64_t>& frame) const {
    return reduce_naively(*job.plan, frame, 0, job.recipe);
  }

  explicit Scan(std::size_t frames) {
    std::mt19937_64 random(31);
    IntegrationOptions options;
    options.bins = 25;
    job.plan = std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape}));
    job.recipe.error_model = ErrorModel::kPoisson;
    for (std::size_t i = 0; i < frames; ++i) {
      std::vector<std::int64_t> frame(shape.size());
      for (std::int64_t& pixel : frame) pixel = static_cast<std::int64_t>(random() % 1000);
      pixels.push_back(std::move(frame));
    }
  }
};

std::vector<FrameResult> reduce_all(Backend& backend, const Scan& scan, std::size_t batch) {
  std::jthread submitting([&] {
    for (std::size_t i = 0; i < scan.pixels.size();) {
      std::vector<Frame> frames;
      for (; frames.size() < batch && i < scan.pixels.size(); ++i) {
        frames.push_back(raw_frame(scan.shape, PixelType::kI32, scan.pixels[i]));
        frames.back().id.index = i;
      }
      backend.submit(std::move(frames));
    }
    backend.finish();
  });
  std::vector<FrameResult> results;
  while (true) {
    std::vector<FrameResult> part = backend.collect();
    if (part.empty()) return results;
    for (FrameResult& result : part) results.push_back(std::move(result));
  }
}

TEST(CpuBackend, ResultsAreInOrderAndDoNotDependOnThreadsOrBatches) {
  const Scan scan(101);
  for (const unsigned threads : {1u, 2u, 5u}) {
    for (const std::size_t batch : {std::size_t{1}, std::size_t{8}, std::size_t{17}}) {
      const auto backend = make_backend("cpu", {threads});
      backend->load(scan.job);
      const auto results = reduce_all(*backend, scan, batch);
      ASSERT_EQ(results.size(), scan.pixels.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(results[i].id.index, i);
        ASSERT_EQ(results[i].sums(), scan.expected(scan.pixels[i])) << i;
      }
      EXPECT_GT(backend->busy_seconds(), 0);
    }
  }
}

TEST(CpuBackend, ResultsDoNotDependOnLatencyOrTheBatchAskedFor) {
  const Scan scan(37);
  for (const bool latency : {false, true}) {
    for (const unsigned batch : {0u, 1u, 3u, 40u}) {
      if (latency && batch > 1) continue;  // refused
      BackendOptions options;
      options.threads = 3;
      options.cpu.latency = latency;
      options.cpu.batch = batch;
      const auto backend = make_backend("cpu", options);
      const Load load = backend->load(scan.job);
      EXPECT_EQ(load.batch, latency ? 1 : batch != 0 ? batch : load.batch);
      EXPECT_EQ(load.workers, latency ? 1u : 3u);
      EXPECT_EQ(load.in_flight, 2 * load.workers);
      EXPECT_EQ(backend->loaded(), load);
      const auto results = reduce_all(*backend, scan, load.batch);
      ASSERT_EQ(results.size(), scan.pixels.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        ASSERT_EQ(results[i].sums(), scan.expected(scan.pixels[i])) << i;
      }
    }
  }
}

TEST(CpuBackend, CanBeLoadedAgainAndLeftWithWorkInside) {
  const Scan scan(20);
  const auto backend = make_backend("cpu", {2});
  for (int round = 0; round < 3; ++round) {
    backend->load(scan.job);
    EXPECT_EQ(reduce_all(*backend, scan, 4).size(), 20u);
  }
  backend->load(scan.job);
  backend->submit({raw_frame(scan.shape, PixelType::kI32, scan.pixels[0])});
  // Destroyed with a batch not collected: must neither hang nor crash.
}

TEST(Backends, AFrameThatChangedWhileItWasReducedGetsAFault) {
  const Scan scan(3);
  for (const char* const name : {"cpu", "model"}) {
    const auto backend = make_backend(name, {1});
    backend->load(scan.job);
    std::vector<Frame> frames;
    for (const auto& pixels : scan.pixels) frames.push_back(raw_frame(scan.shape, PixelType::kI32, pixels));
    const auto owner = std::make_shared<const Bytes>(frames[1].payload);
    frames[1].payload = Bytes(owner, owner->view(), [](const void*) { return false; });
    backend->submit(frames);
    const auto results = backend->collect();
    EXPECT_TRUE(results[0].good() && results[2].good());
    EXPECT_THAT(results[1].fault(), ::testing::HasSubstr("changed"));
  }
}

TEST(Backends, AFrameOfAnotherKindGetsAnErrorWithACureAndLeavesTheOthersRight) {
  const Scan scan(2);
  Frame other_shape = raw_frame({40, 30}, PixelType::kI32, scan.pixels[0]);
  Frame other_type = raw_frame(scan.shape, PixelType::kU16, scan.pixels[0]);
  Frame other_limit = raw_frame(scan.shape, PixelType::kI32, scan.pixels[0]);
  other_limit.max_count = 100;
  const Frame good = raw_frame(scan.shape, PixelType::kI32, scan.pixels[1]);
  for (const char* const name : {"cpu", "model"}) {
    const auto results =
        reduce_by(*make_backend(name, {1}), scan.job, {other_shape, good, other_type, other_limit, good});
    ASSERT_EQ(results.size(), 5u);
    for (const std::size_t i : {0, 2, 3}) {
      ASSERT_FALSE(results[i].good()) << name << i;
      EXPECT_EQ(results[i].error().kind(), ErrorKind::kInput);
      EXPECT_EQ(results[i].error().where(), "test");
    }
    EXPECT_THAT(results[0].error().what(), ::testing::HasSubstr("40 x 30"));
    EXPECT_THAT(results[0].error().cure(), ::testing::HasSubstr("in a scan of their own"));
    EXPECT_THAT(results[2].error().what(), ::testing::HasSubstr("uint16"));
    EXPECT_THAT(results[3].error().what(), ::testing::HasSubstr("saturates at 100"));
    for (const std::size_t i : {1, 4}) {
      EXPECT_EQ(results[i].sums(), scan.expected(scan.pixels[1])) << name << i;
    }
  }
}

TEST(Backends, FloatingPointFramesGoInAsTheyAreRead) {
  const Shape shape{30, 40};
  IntegrationOptions options;
  options.bins = 25;
  const auto plan = std::make_shared<const Plan>(
      build_plan(small_geometry(shape), options, {}, {"test", shape, PixelType::kF32}));
  const std::vector<std::int64_t> pixels(shape.size(), 7);
  for (const char* const name : {"cpu", "model"}) {
    const auto results =
        reduce_by(*make_backend(name, {1}), {plan}, {raw_frame(shape, PixelType::kF32, pixels)});
    ASSERT_TRUE(results[0].good()) << results[0].fault();
    EXPECT_EQ(results[0].sums(), reduce_naively(*plan, pixels, 0)) << name;
  }
}

TEST(Backends, UnknownNameIsRefusedWithTheNamesThereAre) {
  try {
    make_backend("gpu");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBackend);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("cpu"));
  }
}

TEST(Backends, RefuseByNameWhatARecipeAsksForBeyondSums) {
  const Scan scan(1);
  Job clip = scan.job, errors = scan.job;
  clip.recipe.clip.method = ClipMethod::kSigma;
  errors.recipe.error_model = ErrorModel::kAzimuthal;
  for (const BackendDescription& known : describe_backends()) {
    if (!known.available || known.name == "cpu" || known.name == "opencl") continue;
    const auto backend = make_backend(known.name, {1});
    const auto refusal = [&](const Job& job) -> std::string {
      try {
        backend->load(job);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kBackend);
        EXPECT_EQ(error.where(), known.name);
        return error.fault();
      }
      return "no error";
    };
    EXPECT_EQ(refusal(clip), "it cannot do sigma clipping");
    EXPECT_EQ(refusal(errors), "it cannot do azimuthal errors");
    EXPECT_THROW(backend->submit({}), Error) << "nothing is loaded";
  }
}

TEST(Backends, SubmitWithoutAPlanIsAnError) { EXPECT_THROW(make_backend("cpu")->submit({}), Error); }

TEST(CpuBackend, BatchesOfLargeCakesAreSmallerSoThatSumsStayInBounds) {
  const Shape shape{20, 20};
  IntegrationOptions options;
  options.bins = 1000;
  const auto backend = make_backend("cpu", {1});
  const std::size_t usual = cpu_batch_size(best_instruction_set());
  const auto batch_for = [&](std::uint32_t azimuth_bins, ErrorModel model) {
    options.azimuth_bins = azimuth_bins;
    return backend
        ->load({std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape})),
                {model}})
        .batch;
  };
  EXPECT_EQ(batch_for(36, ErrorModel::kNone), usual);
  for (const std::uint32_t azimuth_bins : {720u, 2000u}) {
    for (const ErrorModel model : {ErrorModel::kNone, ErrorModel::kPoisson}) {
      const std::size_t batch = batch_for(azimuth_bins, model);
      const std::size_t bytes = std::size_t{1000} * azimuth_bins * 8 * (model == ErrorModel::kNone ? 1 : 2);
      EXPECT_LT(batch, usual) << azimuth_bins;
      EXPECT_TRUE(batch == 1 || batch * bytes <= std::size_t{32} << 20) << azimuth_bins;
    }
  }
}

}  // namespace
}  // namespace annulus::testing
