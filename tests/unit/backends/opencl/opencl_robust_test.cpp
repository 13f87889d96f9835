// Errors by the spread of pixels, clips, medians and quantiles on an OpenCL device, against the CPU backend.
#include <annulus/backends/opencl/bound_kernel.hpp>
#include <annulus/plan/spread_table.hpp>

#include <array>
#include <bit>
#include <cmath>

#include "opencl_fixture.hpp"

namespace annulus::testing {
namespace {

using ::testing::HasSubstr;

// Groups of one work-item, of odd numbers and of more than most bins have pixels.
std::vector<Choice> rows_choices() {
  return {{Method::kRows, 1, 1, 1 << 20, 64, 8, 1},
          {Method::kRows, 1, 5, 1 << 20, 48, 8, 3},
          {Method::kRows, 1, 16, 1 << 20, 1024, 8, 1},
          {Method::kRows, 1, 64, 1 << 20, 512, 8, 1}};
}

Recipe sigma_recipe(ErrorModel model, double threshold, unsigned cycles) {
  return {model, {ClipMethod::kSigma, threshold, cycles}};
}

Recipe quantile_recipe(double low, double high, ErrorModel model = ErrorModel::kAzimuthal) {
  return {model, {.method = ClipMethod::kQuantiles, .quantiles = Range{low, high}}};
}

Recipe random_robust_recipe(std::mt19937_64& random) {
  const ErrorModel model = std::array{ErrorModel::kNone, ErrorModel::kPoisson, ErrorModel::kAzimuthal,
                                      ErrorModel::kHybrid}[random() % 4];
  switch (random() % 6) {
    case 0:
      return {std::array{ErrorModel::kAzimuthal, ErrorModel::kHybrid}[random() % 2], {}, random() % 2 == 0};
    case 1:
      return {model, {.method = ClipMethod::kMedian}};
    case 2: {
      const Range parts =
          std::array{Range{0, 0}, Range{0.1, 0.9}, Range{1, 1}, Range{0, 1}, Range{0.3, 0.3}}[random() % 5];
      return quantile_recipe(parts.low, parts.high, model);
    }
    default:
      return sigma_recipe(model, 1 + static_cast<double>(random() % 50) / 10,
                          1 + static_cast<unsigned>(random() % 8));
  }
}

// A smooth ring or few different values, marked pixels, and hot ones up to what the type can hold.
std::vector<std::int64_t> spotty_pixels(std::mt19937_64& random, PixelType type, std::size_t count) {
  std::vector<std::int64_t> pixels(count);
  const std::uint64_t level = random() % 3 == 0 ? 0 : random() % 100;
  const std::uint64_t spread = random() % 3 == 0 ? 3 : 20;
  const std::uint64_t one_of = 2 + random() % 300;
  visit_pixel_type(type, [&](auto zero) {
    using Pixel = decltype(zero);
    for (std::int64_t& pixel : pixels) {
      std::uint64_t value = level + random() % spread;
      const std::uint64_t kind = random() % one_of;
      if (kind == 0) value = random() >> random() % 64;
      if (kind == 1) value = static_cast<std::uint64_t>(std::numeric_limits<Pixel>::max()) - random() % 2;
      if (kind == 2) value = static_cast<std::uint64_t>(std::int64_t{-2});
      pixel = static_cast<std::int64_t>(static_cast<Pixel>(value));
    }
  });
  return pixels;
}

PixelMaps random_corrections(std::mt19937_64& random, Shape shape) {
  PixelMaps maps;
  const auto image = [&](double low, double step) {
    Image<double> made{shape, std::vector<double>(shape.size())};
    for (double& value : made.pixels) value = low + step * static_cast<double>(random() % 1000);
    return made;
  };
  switch (random() % 4) {
    case 0:
      maps.dark = image(0, 1.0);  // whole counts
      break;
    case 1:
      maps.dark = image(0.1, 0.003);
      break;
    case 2:
      maps.dark = image(1e7, 1e5 + 0.25);
      break;
  }
  if (random() % 2 == 0) maps.flat = image(0.3, 0.002);
  return maps;
}

std::shared_ptr<const Plan> random_plan(std::mt19937_64& random, Shape shape, PixelType type) {
  while (true) {
    Geometry geometry = random_geometry(random, shape);
    geometry.detector.dectris = random() % 2 == 0;
    IntegrationOptions options = random_options(random);
    if (random() % 3 == 0) options.max_count = 1000;
    try {
      return with_spread_table(std::make_shared<const Plan>(
          build_plan(geometry, options, random_corrections(random, shape), {"test", shape, type}, 1)));
    } catch (
        const Error&) {  // a random window that misses the detector, or a polarisation that leaves nothing
    }
  }
}

Job random_robust_job(std::mt19937_64& random, Shape shape, PixelType type) {
  Job job = make_job(random_plan(random, shape, type), random_robust_recipe(random));
  job.list_outliers = random() % 2 == 0;
  return job;
}

TEST(OpenClBackend, RobustAveragesEqualTheCpuForRandomPlansTypesAndBatches) {
  std::mt19937_64 random(71);
  constexpr PixelType kTypes[] = {PixelType::kU8, PixelType::kU16, PixelType::kU32,
                                  PixelType::kI8, PixelType::kI16, PixelType::kI32};
  const auto choices = rows_choices();
  for (int round = 0; round < 90; ++round) {
    SCOPED_TRACE(round);
    const Shape shape{1 + static_cast<std::uint32_t>(random() % 60),
                      1 + static_cast<std::uint32_t>(random() % 60)};
    const PixelType type = kTypes[random() % 6];
    const Job job = random_robust_job(random, shape, type);
    std::vector<Frame> frames;
    for (std::size_t i = 0; i < 1 + round % 19u; ++i) {
      const auto pixels = spotty_pixels(random, type, shape.size());
      frames.push_back(type == PixelType::kI32 && random() % 3 != 0 ? byte_offset_frame(shape, pixels)
                                                                    : raw_frame(shape, type, pixels));
      if (random() % 3 == 0) frames.back() = block_frame(raw_frame(shape, type, pixels));
      frames.back().id.index = 1000 + i;
      frames.back().fraction_bits = static_cast<int>(random() % 6);
    }
    expect_as_cpu(job, frames, checked(choices[static_cast<std::size_t>(round) % choices.size()]));
    if (HasFatalFailure()) return;
  }
}

TEST(OpenClBackend, RobustAveragesOfFloatsEqualTheCpu) {
  std::mt19937_64 random(72);
  const Shape shape{41, 53};
  for (int round = 0; round < 12; ++round) {
    const Job job = random_robust_job(random, shape, PixelType::kF32);
    std::vector<Frame> frames;
    for (int i = 0; i < 3; ++i) {
      std::vector<float> pixels(shape.size());
      for (float& pixel : pixels)
        pixel = static_cast<float>(random() % 5000) / (round % 2 == 0 ? 16.0f : 1.0f);
      pixels[random() % pixels.size()] = std::numeric_limits<float>::quiet_NaN();
      pixels[random() % pixels.size()] = 90000.0f;
      Frame frame = raw_frame(shape, PixelType::kF32, {});
      const auto bytes = std::as_bytes(std::span(pixels));
      frame.payload = Bytes(std::vector<std::byte>(bytes.begin(), bytes.end()));
      frames.push_back(std::move(frame));
    }
    expect_as_cpu(job, frames, checked(rows_choices()[static_cast<std::size_t>(round) % 4]));
    if (HasFatalFailure()) return;
  }
}

// Few bins of many pixels with the largest values: sums that need all of their 128 bits' lower half, and
// carry.
TEST(OpenClBackend, RobustSumsCarryIntoTheirSecondWord) {
  std::mt19937_64 random(73);
  const Shape shape{120, 90};
  for (const PixelType type : {PixelType::kU32, PixelType::kI32}) {
    for (const Splitting splitting : {Splitting::kNo, Splitting::kFull}) {
      IntegrationOptions options;
      options.bins = 3;
      options.splitting = splitting;
      options.max_count = std::numeric_limits<std::uint32_t>::max();
      PixelMaps maps;
      maps.dark = Image<double>{shape, std::vector<double>(shape.size(), 1234567.25)};
      const auto plan = std::make_shared<const Plan>(
          build_plan(small_geometry(shape), options, maps, {"test", shape, type}));
      std::vector<Frame> frames;
      for (int i = 0; i < 3; ++i) {
        std::vector<std::int64_t> pixels(shape.size());
        for (std::int64_t& pixel : pixels) {
          pixel = static_cast<std::int64_t>(random() % 2000000000) + (i == 1 ? 100000000 : 0);
          if (type == PixelType::kU32) pixel *= 2;
          if (type == PixelType::kI32 && i == 2) pixel = -pixel;
        }
        frames.push_back(raw_frame(shape, type, pixels));
      }
      for (const Recipe& recipe : {Recipe{ErrorModel::kAzimuthal}, sigma_recipe(ErrorModel::kAzimuthal, 1, 8),
                                   quantile_recipe(0.1, 0.9)}) {
        const Job job = make_job(plan, recipe);
        expect_as_cpu(job, frames, checked(rows_choices()[1]));
        const auto results = reduce_by_opencl(job, frames, checked(rows_choices()[3]));
        for (const FrameResult& result : results) {
          const auto high = result.sums().word(Quantity::kSquares, 1);
          EXPECT_TRUE(std::ranges::any_of(high, [](std::int64_t word) { return word > 100; }));
        }
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(OpenClBackend, RobustSumsFollowWindowsWhoseBinsBecomeEmpty) {
  const Shape shape{30, 30};
  IntegrationOptions options;
  options.bins = 500;
  options.splitting = Splitting::kNo;
  const auto plan =
      std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape}));
  std::mt19937_64 random(74);
  std::vector<Frame> frames;
  for (int i = 0; i < 5; ++i) {
    std::vector<std::int64_t> pixels(shape.size());
    for (std::int64_t& pixel : pixels) pixel = random() % 2 == 0 ? 10 : 100000;
    frames.push_back(raw_frame(shape, PixelType::kI32, pixels));
  }
  int emptied = 0;
  for (const ErrorModel model : {ErrorModel::kPoisson, ErrorModel::kAzimuthal, ErrorModel::kHybrid}) {
    for (const unsigned cycles : {1u, 2u, 8u}) {
      Job job = make_job(plan, sigma_recipe(model, 0.9, cycles));
      job.list_outliers = true;
      for (const Choice& choice : rows_choices()) expect_as_cpu(job, frames, checked(choice));
      for (const FrameResult& result : reduce_by_opencl(job, frames, checked(rows_choices()[1])))
        emptied += std::ranges::count(result.sums()[Quantity::kEmptied], 1) > 0;
    }
  }
  EXPECT_GT(emptied, 10);
}

TEST(OpenClBackend, RobustSumsDependOnNeitherBatchesNorOrder) {
  std::mt19937_64 random(75);
  const Shape shape{50, 40};
  const auto plan = random_plan(random, shape, PixelType::kI32);
  std::vector<Frame> frames;
  for (std::uint64_t i = 0; i < 21; ++i) {
    frames.push_back(byte_offset_frame(shape, spotty_pixels(random, PixelType::kI32, shape.size())));
    frames.back().id.index = i;
    if (i % 7 == 3) frames.back().payload = frames.back().payload.slice(0, frames.back().payload.size() / 2);
  }
  for (const Recipe& recipe : {sigma_recipe(ErrorModel::kHybrid, 2, 5),
                               Recipe{ErrorModel::kNone, {.method = ClipMethod::kMedian}}}) {
    Job job = make_job(plan, recipe);
    job.list_outliers = true;
    const auto expected = reduce_by_cpu(job, frames);
    for (const std::size_t batch : {1u, 4u, 21u}) {
      const auto backend = make_opencl_backend({}, checked(rows_choices()[2]));
      backend->load(job);
      std::vector<std::size_t> order(frames.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = batch == 4 ? order.size() - 1 - i : i;
      std::vector<FrameResult> found(frames.size());
      for (std::size_t first = 0; first < frames.size(); first += batch) {
        std::vector<Frame> some;
        for (std::size_t i = first; i < std::min(frames.size(), first + batch); ++i)
          some.push_back(frames[order[i]]);
        backend->submit(some);
        for (FrameResult& result : backend->collect()) {
          const std::size_t place = result.id.index;
          found[place] = std::move(result);
        }
      }
      backend->finish();
      expect_same_results(found, expected);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(OpenClBackend, RobustSumsTakeFewerFramesAtATimeWhereMemoryIsShort) {
  std::mt19937_64 random(76);
  const Shape shape{150, 150};
  std::vector<Frame> frames;
  for (int i = 0; i < 16; ++i)
    frames.push_back(byte_offset_frame(shape, spotty_pixels(random, PixelType::kI32, shape.size())));
  for (const Recipe& recipe : {sigma_recipe(ErrorModel::kAzimuthal, 3, 5), quantile_recipe(0.1, 0.9)}) {
    Job job = make_job(simple_job(shape).plan, recipe);
    job.list_outliers = true;
    const auto expected = reduce_by_cpu(job, frames);
    int worked = 0, refused = 0;
    for (std::uint64_t memory = 1000 << 10; memory < 5 << 20; memory += 500 << 10) {
      auto settings = checked(rows_choices()[1]);
      settings.memory = memory;
      settings.unified = memory % 3 == 0;
      try {
        expect_same_results(reduce_by_opencl(job, frames, settings), expected);
        ++worked;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kBackend) << error.what();
        EXPECT_EQ(worked, 0) << "less memory was enough";
        ++refused;
      }
    }
    EXPECT_GT(worked, 3);
    EXPECT_GT(refused, 0);
  }
}

TEST(OpenClBackend, RefusesOtherKernelsThanRowsForRobustAverages) {
  const Job job = make_job(simple_job(Shape{20, 20}).plan, sigma_recipe(ErrorModel::kAzimuthal, 5, 5));
  opencl::SessionSettings settings;
  settings.check_bounds = true;
  for (const Method method : {Method::kLanes, Method::kLocal}) {
    settings.method = method;
    try {
      make_opencl_backend({}, settings)->load(job);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), HasSubstr("cannot do sigma clipping, azimuthal errors"));
    }
  }
}

TEST(OpenClBackend, MeasuresTheWaysOfRobustAveragesThatItHas) {
  std::mt19937_64 random(77);
  const Shape shape{30, 40};
  opencl::SessionSettings settings;
  settings.check_bounds = true;
  const std::vector<Frame> frames(
      3, raw_frame(shape, PixelType::kI32, spotty_pixels(random, PixelType::kI32, shape.size())));
  expect_as_cpu(make_job(simple_job(shape).plan, sigma_recipe(ErrorModel::kHybrid, 3, 4)), frames, settings);
}

TEST(OpenClBackend, AccountsForTheStagesOfRobustAverages) {
  std::mt19937_64 random(78);
  const Shape shape{40, 40};
  auto settings = checked(rows_choices()[1]);
  settings.profile = std::make_shared<opencl::Profile>();
  const auto backend = make_opencl_backend({}, settings);
  Job job = make_job(simple_job(shape).plan, quantile_recipe(0.2, 0.8));
  job.list_outliers = true;
  backend->load(job);
  backend->submit({raw_frame(shape, PixelType::kI32, spotty_pixels(random, PixelType::kI32, shape.size()))});
  backend->finish();
  backend->collect();
  std::vector<std::string> stages;
  for (const StageTime& stage : backend->profile()) stages.push_back(stage.name);
  EXPECT_THAT(stages, ::testing::UnorderedElementsAre("pack", "widen pixels", "order pixels", "find ranks",
                                                      "integrate", "mark outliers", "fetch"));
}

// A kernel of its own hands numbers to the function that orders pixels.
TEST(OpenClBackend, OrdersPixelsLikeTheNearestDoubleOfTheirValue) {
  auto settings = checked(rows_choices()[0]);
  settings.extra_source =
      "\nkernel void try_keys(global const long* s, global const uint* n, global long* keys) {\n"
      "  const uint i = get_global_id(0);\n  keys[i] = key_of(s[i], n[i]);\n}\n";
  const Job job = make_job(simple_job(Shape{5, 5}).plan, {ErrorModel::kAzimuthal});
  const opencl::Session session(opencl::select_devices("0").front(), job, settings);
  std::mt19937_64 random(79);
  constexpr std::size_t kTrials = 200000;
  std::vector<cl_long> values(kTrials), keys(kTrials);
  std::vector<cl_uint> divisors(kTrials);
  for (std::size_t i = 0; i < kTrials; ++i) {
    values[i] = static_cast<cl_long>(random() % (std::uint64_t{1} << (1 + random() % 39)) + random() % 2);
    if (random() % 2 == 0) values[i] = -values[i];
    divisors[i] = static_cast<cl_uint>(1 + random() % ((1u << (1 + random() % 22)) - 1));
    if (i % 64 == 0) divisors[i] = (1u << 22) - 1;
    // About half way between two doubles.
    if (i % 8 == 0) values[i] = (std::int64_t{1} << 39) - static_cast<cl_long>(random() % 3);
  }
  const cl::CommandQueue queue(session.context(), session.device().device);
  const cl::Buffer s(session.context(), CL_MEM_READ_WRITE, kTrials * sizeof(cl_long));
  const cl::Buffer n(session.context(), CL_MEM_READ_WRITE, kTrials * sizeof(cl_uint));
  const cl::Buffer k(session.context(), CL_MEM_READ_WRITE, kTrials * sizeof(cl_long));
  queue.enqueueWriteBuffer(s, CL_TRUE, 0, kTrials * sizeof(cl_long), values.data());
  queue.enqueueWriteBuffer(n, CL_TRUE, 0, kTrials * sizeof(cl_uint), divisors.data());
  opencl::BoundKernel bound(session.program(), "try_keys", session.device().device);
  bound.kernel.setArg(0, s);
  bound.kernel.setArg(1, n);
  bound.kernel.setArg(2, k);
  queue.enqueueNDRangeKernel(bound.kernel, cl::NullRange, cl::NDRange(kTrials), cl::NullRange);
  queue.enqueueReadBuffer(k, CL_TRUE, 0, kTrials * sizeof(cl_long), keys.data());
  for (std::size_t i = 0; i < kTrials; ++i) {
    const double value = static_cast<double>(values[i]) / divisors[i];
    const auto bits = std::bit_cast<std::int64_t>(std::abs(value));
    ASSERT_EQ(keys[i], values[i] < 0 ? -bits : bits) << values[i] << " / " << divisors[i];
  }
}

}  // namespace
}  // namespace annulus::testing
