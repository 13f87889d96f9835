// Kernels on an OpenCL device behind the backend interface, against the CPU backend. Every test runs kernels
// that look at each index they use.
#include <annulus/backends/cpu_reducer.hpp>
#include <annulus/backends/opencl_backend.hpp>
#include <annulus/codecs/encode_blocks.hpp>
#include <annulus/core/error.hpp>
#include <annulus/opencl/batch.hpp>
#include <annulus/opencl/tuning.hpp>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "plan_fixtures.hpp"
#include "test_frames.hpp"

namespace annulus::testing {
namespace {

// Calls of one OpenCL function that fail, as they do on a device that is short of memory or lost.
struct Fault {
  std::atomic<int> after = -1;  // calls that still succeed; less than 0: all do
  std::atomic<int> count = 0;   // that fail then
  std::atomic<int> happened = 0;
  cl_int code = CL_SUCCESS;

  void arm(int calls_before, int calls, cl_int code_of_fault) {
    code = code_of_fault;
    happened = 0;
    count = calls;
    after = calls_before;
  }
  cl_int next() {
    if (after < 0 || after-- > 0) return CL_SUCCESS;
    after = 0;
    if (count-- <= 0) {
      after = -1;
      return CL_SUCCESS;
    }
    ++happened;
    return code;
  }
};
Fault kernel_fault, read_fault, finish_fault, queue_fault;
std::atomic<int> reads_under_way = 0;
std::atomic<int> under_way_at_fault = 0;

struct NoFaultsAfterwards {
  ~NoFaultsAfterwards() {
    for (Fault* fault : {&kernel_fault, &read_fault, &finish_fault, &queue_fault}) fault->after = -1;
  }
};

template <typename Function>
Function* next_definition(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace annulus::testing

// The program calls these instead of the ones in the OpenCL loader.
extern "C" {

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t* offset, const size_t* global, const size_t* local, cl_uint waits,
                              const cl_event* wait_for, cl_event* event) {
  static const auto loaders = annulus::testing::next_definition<decltype(clEnqueueNDRangeKernel)>(__func__);
  if (const cl_int code = annulus::testing::kernel_fault.next()) return code;
  return loaders(queue, kernel, dimensions, offset, global, local, waits, wait_for, event);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t bytes, void* to, cl_uint waits, const cl_event* wait_for, cl_event* event) {
  static const auto loaders = annulus::testing::next_definition<decltype(clEnqueueReadBuffer)>(__func__);
  if (const cl_int code = annulus::testing::read_fault.next()) {
    annulus::testing::under_way_at_fault += annulus::testing::reads_under_way;
    return code;
  }
  // A read that waits comes after all before it.
  annulus::testing::reads_under_way = blocking ? 0 : annulus::testing::reads_under_way + 1;
  return loaders(queue, buffer, blocking, offset, bytes, to, waits, wait_for, event);
}

cl_int clFinish(cl_command_queue queue) {
  static const auto loaders = annulus::testing::next_definition<decltype(clFinish)>(__func__);
  if (const cl_int code = annulus::testing::finish_fault.next()) return code;
  return loaders(queue);
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                      cl_command_queue_properties properties, cl_int* code) {
  static const auto loaders = annulus::testing::next_definition<decltype(clCreateCommandQueue)>(__func__);
  if (const cl_int fault = annulus::testing::queue_fault.next()) {
    if (code != nullptr) *code = fault;
    return nullptr;
  }
  return loaders(context, device, properties, code);
}

}  // extern "C"

namespace annulus::testing {
namespace {

using opencl::Choice;
using opencl::Method;
using ::testing::HasSubstr;

// One of each kind, with bands and segments so small that frames have many of them.
std::vector<Choice> some_choices() {
  return {{Method::kLanes, 3, 1, 1 << 20, 64, 8, 1},
          {Method::kLanes, 5, 1, 160, 16, 8, 4},
          {Method::kRows, 1, 5, 1 << 20, 48, 8, 3},
          {Method::kLocal, 3, 7, 400, 1024, 8, 1}};
}

opencl::SessionSettings checked(const Choice& choice) {
  opencl::SessionSettings settings;
  settings.choice = choice;
  settings.check_bounds = true;
  return settings;
}

std::vector<FrameResult> reduce_by_opencl(std::shared_ptr<const Plan> plan, const std::vector<Frame>& frames,
                                          const opencl::SessionSettings& settings,
                                          const BackendOptions& options = {}) {
  const auto backend = make_opencl_backend(options, settings);
  backend->load(std::move(plan));
  backend->submit(frames);
  backend->finish();
  return backend->collect();
}

void expect_same_results(const std::shared_ptr<const Plan>& plan, const std::vector<Frame>& frames,
                         const opencl::SessionSettings& settings, const BackendOptions& options = {}) {
  SCOPED_TRACE(settings.choice ? to_text(*settings.choice) : "tuned");
  const auto expected = CpuReducer(make_cpu_plan(plan, 1), InstructionSet::kGeneric).reduce(frames);
  const auto results = reduce_by_opencl(plan, frames, settings, options);
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].index, expected[i].index);
    EXPECT_EQ(results[i].fault, expected[i].fault) << i;
    ASSERT_EQ(results[i].accumulators, expected[i].accumulators) << i;
  }
}

std::shared_ptr<const Plan> simple_plan(Shape shape, std::uint32_t bins = 40,
                                        ErrorModel model = ErrorModel::kNone) {
  IntegrationOptions options;
  options.bins = bins;
  options.error_model = model;
  return std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape}));
}

PixelMaps random_maps(std::mt19937_64& random, Shape shape) {
  PixelMaps maps;
  const auto image = [&] {
    Image<double> made{shape, std::vector<double>(shape.size())};
    for (double& value : made.pixels) value = 0.5 + static_cast<double>(random() % 1000) / 500;
    return made;
  };
  if (random() % 2 == 0) maps.dark = image();
  if (random() % 2 == 0) maps.flat = image();
  return maps;
}

TEST(OpenClBackend, EqualsTheCpuForRandomPlansTypesAndBatches) {
  std::mt19937_64 random(51);
  constexpr PixelType kTypes[] = {PixelType::kU8, PixelType::kU16, PixelType::kU32,
                                  PixelType::kI8, PixelType::kI16, PixelType::kI32};
  const auto choices = some_choices();
  int compared = 0;
  for (int round = 0; round < 80; ++round) {
    const Shape shape{1 + static_cast<std::uint32_t>(random() % 60),
                      1 + static_cast<std::uint32_t>(random() % 60)};
    const PixelType type = kTypes[random() % 6];
    Geometry geometry = random_geometry(random, shape);
    geometry.detector.dectris = random() % 2 == 0;
    IntegrationOptions options = random_options(random);
    if (random() % 2 == 0) options.max_count = 1000;
    std::shared_ptr<const Plan> plan;
    try {
      plan = std::make_shared<const Plan>(
          build_plan(geometry, options, random_maps(random, shape), {"test", shape, type}, 1));
    } catch (const Error&) {
      continue;  // a random window that misses the detector
    }
    std::vector<Frame> frames;
    for (std::size_t i = 0; i < 1 + round % 19u; ++i) {
      const auto pixels = random_pixels(random, type, shape.size());
      frames.push_back(type == PixelType::kI32 && random() % 3 != 0 ? byte_offset_frame(shape, pixels)
                                                                    : raw_frame(shape, type, pixels));
      frames.back().index = 1000 + i;
      frames.back().fraction_bits = static_cast<int>(random() % 5);
    }
    expect_same_results(plan, frames, checked(choices[static_cast<std::size_t>(round) % choices.size()]));
    if (HasFatalFailure()) return;
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

// A payload of codes of all four lengths, whether or not a shorter one would do.
Frame frame_of_all_codes(std::mt19937_64& random, Shape shape, unsigned long_ones_of_16) {
  std::vector<std::byte> bytes;
  const auto append = [&](auto value) {
    const auto part = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), part.begin(), part.end());
  };
  std::int64_t value = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const int length = random() % 16 < long_ones_of_16 ? 1 + static_cast<int>(random() % 3) : 0;
    const std::int64_t wanted = length < 2 ? value + static_cast<std::int64_t>(random() % 200) - 100
                                           : static_cast<std::int64_t>(random() % 4000000000u) - 2000000000;
    std::int64_t delta = wanted - value;
    if (length == 0) delta = std::clamp<std::int64_t>(delta, -127, 127);
    if (length == 2) delta = std::clamp<std::int64_t>(delta, -2147483647, 2147483647);
    value += delta;
    if (length == 0) {
      append(static_cast<std::int8_t>(delta));
      continue;
    }
    append(std::int8_t{-128});
    if (length == 1) {
      append(static_cast<std::int16_t>(delta));
      continue;
    }
    append(std::int16_t{-32768});
    if (length == 2) {
      append(static_cast<std::int32_t>(delta));
      continue;
    }
    append(std::numeric_limits<std::int32_t>::min());
    append(delta);
  }
  Frame frame = raw_frame(shape, PixelType::kI32, {});
  frame.codec = Codec::kByteOffset;
  frame.payload = Bytes(std::move(bytes));
  return frame;
}

TEST(OpenClBackend, DecodesCodesOfAllLengthsWhereverSegmentsCutThem) {
  std::mt19937_64 random(52);
  const Shape shape{50, 70};
  const auto plan = simple_plan(shape);
  std::vector<Frame> frames;
  for (const unsigned long_ones : {0u, 1u, 4u, 12u, 16u}) {
    for (int i = 0; i < 5; ++i) frames.push_back(frame_of_all_codes(random, shape, long_ones));
  }
  for (const std::uint32_t segment : {16u, 17u, 31u, 100u, 4096u}) {
    Choice choice{Method::kLanes, 2, 1, 1024, segment, 8, segment % 2 + 1};
    expect_same_results(plan, frames, checked(choice));
  }
}

TEST(OpenClBackend, SaysOfDamagedFramesWhatTheCpuSays) {
  std::mt19937_64 random(53);
  const Shape shape{50, 70};
  const auto plan = simple_plan(shape);
  const Frame good = byte_offset_frame(shape, random_pixels(random, PixelType::kI32, shape.size()));
  std::vector<Frame> frames = {good};
  for (int i = 0; i < 200; ++i) {
    std::vector<std::byte> bytes(good.payload.view().begin(), good.payload.view().end());
    switch (random() % 5) {
      case 0:
        bytes.resize(random() % bytes.size());
        break;
      case 1:
        bytes.resize(bytes.size() + 1 + random() % 100, static_cast<std::byte>(random() % 2 * 0x80));
        break;
      case 2:
        bytes[random() % bytes.size()] = std::byte{0x80};
        break;
      case 3:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(random() % (bytes.size() - 100)), 100,
                    std::byte{0x80});
        break;
      default:
        for (int k = 0; k < 15; ++k) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    Frame damaged = good;
    damaged.payload = Bytes(std::move(bytes));
    frames.push_back(std::move(damaged));
  }
  Frame other_shape = good;
  other_shape.shape = Shape{70, 50};
  frames.push_back(other_shape);
  Frame short_raw = raw_frame(shape, PixelType::kI32, std::vector<std::int64_t>(shape.size(), 1));
  short_raw.payload = short_raw.payload.slice(0, 101);
  frames.push_back(short_raw);
  frames.push_back(raw_frame(shape, PixelType::kU16, std::vector<std::int64_t>(shape.size(), 1)));
  Frame empty = good;
  empty.payload = Bytes(std::vector<std::byte>());
  frames.push_back(empty);
  Frame huge = good;
  huge.payload = Bytes(std::vector<std::byte>(20 * shape.size(), std::byte{1}));
  frames.push_back(huge);
  frames.push_back(good);
  for (const Choice& choice : some_choices()) expect_same_results(plan, frames, checked(choice));
}

TEST(OpenClBackend, TellsValuesThatLeaveInt32OnBothSides) {
  const Shape shape{20, 20};
  const auto plan = simple_plan(shape);
  std::vector<Frame> frames;
  for (const std::int64_t edge : {std::int64_t{INT32_MAX}, std::int64_t{INT32_MIN}}) {
    for (const std::int8_t after : {-1, 0, 1}) {
      std::vector<std::int64_t> pixels(shape.size(), 5);
      std::fill(pixels.begin() + 123, pixels.end(), edge);
      Frame frame = byte_offset_frame(shape, pixels);
      std::vector<std::byte> bytes(frame.payload.view().begin(), frame.payload.view().end());
      bytes[bytes.size() - 40] = static_cast<std::byte>(after);
      frame.payload = Bytes(std::move(bytes));
      frames.push_back(std::move(frame));
    }
  }
  for (const Choice& choice : some_choices()) expect_same_results(plan, frames, checked(choice));
}

TEST(OpenClBackend, TakesFramesInBlocksAndSaysWhatIsWrongWithThem) {
  std::mt19937_64 random(59);
  const Shape shape{61, 67};
  for (const PixelType type :
       {PixelType::kU8, PixelType::kU16, PixelType::kI16, PixelType::kU32, PixelType::kI32}) {
    IntegrationOptions options;
    options.bins = 40;
    const auto plan =
        std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape, type}));
    std::vector<Frame> frames;
    for (const Codec codec : {Codec::kBitshuffleLz4, Codec::kBitshuffleZstd, Codec::kLz4}) {
      for (int i = 0; i < 12; ++i) {
        Frame frame = raw_frame(shape, type, random_pixels(random, type, shape.size()));
        // Blocks that are smaller than the frame, and one that is as large.
        const std::size_t block = i % 3 == 0 ? 0 : 64 * size_of(type) * (1 + random() % 9);
        std::vector<std::byte> bytes = encode_blocks(codec, frame.payload.view(), size_of(type), block);
        if (i % 4 == 1) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        if (i % 4 == 2) bytes[16 + random() % 40] ^= static_cast<std::byte>(1 + random() % 255);
        if (i == 3) bytes.resize(random() % bytes.size());
        if (i == 7) bytes.resize(bytes.size() + 5);
        frame.codec = codec;
        frame.payload = Bytes(std::move(bytes));
        frames.push_back(std::move(frame));
      }
    }
    for (const Choice& choice : some_choices()) expect_same_results(plan, frames, checked(choice));
  }
}

TEST(OpenClBackend, SharesAScanAmongDevicesAndKeepsTheOrder) {
  std::mt19937_64 random(54);
  const Shape shape{40, 40};
  const auto plan = simple_plan(shape, 30, ErrorModel::kPoisson);
  BackendOptions options;
  options.device = "0:0/2";
  const auto backend = make_opencl_backend(options, checked({Method::kLanes, 2, 1, 1 << 16, 64, 8, 1}));
  const auto cpu = make_cpu_plan(plan, 1);
  backend->load(plan);
  EXPECT_EQ(backend->capacity(), 8u) << "two batches for each of two threads on each of two devices";
  std::vector<std::vector<Frame>> batches;
  for (std::uint64_t b = 0; b < 8; ++b) {
    auto& batch = batches.emplace_back();
    for (std::uint64_t i = 0; i < 4; ++i) {
      batch.push_back(byte_offset_frame(shape, random_pixels(random, PixelType::kI32, shape.size())));
      batch.back().index = b * 4 + i;
    }
    backend->submit(batch);
  }
  backend->finish();
  for (const auto& batch : batches) {
    const auto results = backend->collect();
    const auto expected = CpuReducer(cpu, InstructionSet::kGeneric).reduce(batch);
    ASSERT_EQ(results.size(), expected.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].index, expected[i].index);
      EXPECT_EQ(results[i].accumulators, expected[i].accumulators);
    }
  }
  EXPECT_TRUE(backend->collect().empty());
}

TEST(OpenClBackend, SendsThroughPinnedMemoryWhereNoneIsShared) {
  std::mt19937_64 random(55);
  const Shape shape{40, 40};
  std::vector<Frame> frames;
  for (int i = 0; i < 20; ++i)
    frames.push_back(byte_offset_frame(shape, random_pixels(random, PixelType::kI32, shape.size())));
  auto settings = checked(some_choices().front());
  settings.unified = false;
  expect_same_results(simple_plan(shape), frames, settings);
}

TEST(OpenClBackend, TakesMoreBinsThanPixels) {
  std::mt19937_64 random(56);
  const Shape shape{60, 60};
  const auto plan = simple_plan(shape, 100000);
  const std::vector<Frame> frames(
      3, byte_offset_frame(shape, random_pixels(random, PixelType::kI32, shape.size())));
  expect_same_results(plan, frames, checked({Method::kLanes, 2, 1, 1 << 16, 64, 8, 1}));
  expect_same_results(plan, frames, checked({Method::kRows, 1, 4, 1 << 16, 64, 8, 1}));
}

TEST(OpenClBackend, TakesFewerFramesAtATimeWhereMemoryIsShort) {
  std::mt19937_64 random(57);
  const Shape shape{200, 200};
  std::vector<Frame> frames;
  for (int i = 0; i < 16; ++i)
    frames.push_back(byte_offset_frame(shape, random_pixels(random, PixelType::kI32, shape.size())));
  auto settings = checked({Method::kRows, 1, 4, 1 << 20, 1024, 8, 1});
  settings.memory = std::uint64_t{3} << 20;  // the plan takes about 1 MiB of it, a batch of 16 frames 4 MiB
  expect_same_results(simple_plan(shape), frames, settings, {.threads = 1});
}

TEST(OpenClBackend, RefusesWhatHasNoRoom) {
  const auto refusal = [](std::uint64_t memory, const Choice& choice) -> std::string {
    auto settings = checked(choice);
    settings.memory = memory;
    try {
      make_opencl_backend({}, settings)->load(simple_plan(Shape{200, 200}));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBackend);
      EXPECT_FALSE(error.cure().empty());
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(refusal(100 << 10, some_choices().front()), HasSubstr("the plan takes"));
  EXPECT_THAT(refusal(1200 << 10, {Method::kRows, 1, 4, 1 << 20, 1024, 8, 1}),
              HasSubstr("a single frame takes"));
}

TEST(OpenClBackend, ShowsWhatTheCompilerSays) {
  auto settings = checked(some_choices().front());
  settings.extra_source = "\nkernel void broken(global int* p) { p[0] = no_such_name; }\n";
  try {
    make_opencl_backend({}, settings)->load(simple_plan(Shape{20, 20}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBackend);
    EXPECT_THAT(error.what(), HasSubstr("no_such_name"));
  }
}

TEST(OpenClBackend, NamesTheDevicesThereAreWhenNoneIsMeant) {
  for (const char* which : {"17", "5:0", "no such thing"}) {
    BackendOptions options;
    options.device = which;
    try {
      make_opencl_backend(options);
      FAIL() << which;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBackend);
      EXPECT_THAT(error.cure(), HasSubstr("0:0 "));
    }
  }
}

TEST(OpenClBackend, AccountsForEveryStage) {
  std::mt19937_64 random(58);
  const Shape shape{40, 40};
  auto settings = checked(some_choices().front());
  settings.profile = std::make_shared<opencl::Profile>();
  const auto backend = make_opencl_backend({}, settings);
  backend->load(simple_plan(shape));
  backend->submit({byte_offset_frame(shape, random_pixels(random, PixelType::kI32, shape.size()))});
  backend->finish();
  backend->collect();
  std::vector<std::string> stages;
  for (const StageTime& stage : backend->profile()) {
    stages.push_back(stage.name);
    EXPECT_GT(stage.calls, 0u);
    EXPECT_GE(stage.seconds, 0);
  }
  EXPECT_THAT(stages, ::testing::UnorderedElementsAre("pack", "survey segments", "join segments",
                                                      "decode segments", "integrate", "add up", "fetch"));
}

// Frames of each codec in turn that compress as badly as those of a detector ever do: noise in all bits, and
// codes of three bytes.
std::vector<Frame> frames_of_all_codecs(Shape shape, std::size_t count) {
  std::mt19937_64 random(60);
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> pixels(shape.size());
    for (std::int64_t& pixel : pixels) pixel = static_cast<std::int32_t>(random());
    std::vector<std::int64_t> counts(shape.size());
    for (std::int64_t& count : counts) count = static_cast<std::int64_t>(random() % 20000);
    const Frame raw = raw_frame(shape, PixelType::kI32, pixels);
    const std::array made = {block_frame(raw), raw, byte_offset_frame(shape, counts),
                             block_frame(raw, Codec::kLz4)};
    frames.push_back(made[i % made.size()]);
    frames.back().index = i;
  }
  return frames;
}

std::shared_ptr<opencl::Session> make_session(std::shared_ptr<const Plan> plan,
                                              const opencl::SessionSettings& settings) {
  const auto session =
      std::make_shared<opencl::Session>(opencl::select_devices("0").front(), std::move(plan), settings);
  opencl::tune(*session);
  return session;
}

// What `work` says when it fails, which is to be the fault of a device that it names; empty if it does not.
template <typename Work>
std::string device_refusal(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBackend) << error.what();
    EXPECT_THAT(error.where(), HasSubstr("OpenCL device 0:0"));
    EXPECT_FALSE(error.cure().empty());
    return error.fault();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not an annulus::Error: " << error.what();
    return error.what();
  }
  return {};
}

constexpr Choice kLanesChoice = {Method::kLanes, 2, 1, 1 << 20, 1024, 8, 1};
constexpr Choice kRowsChoice = {Method::kRows, 1, 4, 1 << 20, 1024, 8, 1};

TEST(OpenClBackend, GivesRightSumsOrADevicesRefusalWithAnyMemory) {
  const Shape shape{150, 150};
  const auto plan = simple_plan(shape);
  const auto frames = frames_of_all_codecs(shape, 24);
  const auto expected = CpuReducer(make_cpu_plan(plan, 1), InstructionSet::kGeneric).reduce(frames);
  const auto works = [&](opencl::SessionSettings settings) {
    return device_refusal([&] {
             const auto results = reduce_by_opencl(plan, frames, settings);
             ASSERT_EQ(results.size(), expected.size());
             for (std::size_t i = 0; i < results.size(); ++i) {
               EXPECT_EQ(results[i].accumulators, expected[i].accumulators) << i;
             }
           })
        .empty();
  };
  for (const bool unified : {true, false}) {
    for (const Choice& choice : {kLanesChoice, kRowsChoice}) {
      auto settings = checked(choice);
      settings.unified = unified;
      int worked = 0;
      for (settings.memory = 400 << 10; settings.memory < (3 << 20); settings.memory += 150 << 10) {
        SCOPED_TRACE(
            fmt::format("{}, {} bytes{}", to_text(choice), settings.memory, unified ? "" : ", not unified"));
        const bool enough = works(settings);
        EXPECT_TRUE(enough || worked == 0) << "less memory was enough";
        worked += enough;
      }
      EXPECT_GT(worked, 5);
    }
  }
}

TEST(OpenClBackend, OneThreadLeavesTheOthersShareOfMemory) {
  const Shape shape{200, 200};
  auto frames = frames_of_all_codecs(shape, 64);
  std::erase_if(frames, [](const Frame& frame) { return frame.codec != Codec::kBitshuffleLz4; });
  // Longer than anybody expects: codes of 7 and 15 bytes.
  std::mt19937_64 random(61);
  std::vector<std::int64_t> noise(shape.size());
  for (std::int64_t& pixel : noise) pixel = static_cast<std::int32_t>(random());
  const Frame long_frame = byte_offset_frame(shape, noise);
  const std::vector<const Frame*> long_ones(16, &long_frame);
  std::vector<const Frame*> pointers;
  for (const Frame& frame : frames) pointers.push_back(&frame);
  for (const bool unified : {true, false}) {
    auto settings = checked(kLanesChoice);
    settings.memory = 4 << 20;
    settings.unified = unified;
    const auto session = make_session(simple_plan(shape), settings);
    ASSERT_EQ(session->share_memory(2), 2u);
    opencl::Batch first(session);
    for (const auto& taken : {pointers, long_ones}) {
      EXPECT_EQ(first.reduce(taken).size(), taken.size());
      EXPECT_GE(session->memory().left(), session->share()) << unified;
    }
    opencl::Batch second(session);
    EXPECT_EQ(second.reduce(pointers).size(), pointers.size());
  }
}

TEST(OpenClBackend, LetsGoOfTheRowsThatAnotherMethodDoesNotNeed) {
  auto settings = checked(kLanesChoice);
  settings.memory = 4 << 20;
  const auto session = make_session(simple_plan(Shape{200, 200}), settings);
  const std::uint64_t left = session->memory().left();
  session->take(kRowsChoice);
  const std::uint64_t left_beside_rows = session->memory().left();
  EXPECT_LT(left_beside_rows, left);
  session->take(kRowsChoice);
  EXPECT_EQ(session->memory().left(), left_beside_rows);
  session->take(kLanesChoice);
  EXPECT_EQ(session->memory().left(), left);

  // Room for one of the arrays but not for all: none stays.
  settings.memory = settings.memory - left + (left - left_beside_rows) * 3 / 4;
  const auto narrow = make_session(simple_plan(Shape{200, 200}), settings);
  const std::uint64_t before = narrow->memory().left();
  EXPECT_FALSE(narrow->can(kRowsChoice, Codec::kRaw));
  EXPECT_THAT(device_refusal([&] { narrow->take(kRowsChoice); }), HasSubstr("out of memory"));
  EXPECT_EQ(narrow->memory().left(), before);
  EXPECT_EQ(narrow->choice(), kLanesChoice);
}

TEST(OpenClBackend, CountsTheRowsThatAMethodStillHasToSend) {
  auto settings = checked(kLanesChoice);
  settings.memory = 4 << 20;
  const auto plan = simple_plan(Shape{200, 200});
  const auto session = make_session(plan, settings);
  const std::uint64_t plan_bytes = settings.memory - session->memory().left();
  session->take(kRowsChoice);
  const std::uint64_t plan_and_rows = settings.memory - session->memory().left();
  const std::uint64_t frame = session->batch_bytes(1, kRowsChoice, Codec::kRaw);
  ASSERT_GT(plan_and_rows - plan_bytes, frame / 2);
  for (const bool enough : {false, true}) {
    settings.memory = plan_and_rows + (enough ? frame : frame / 2);
    const auto other = make_session(plan, settings);
    EXPECT_EQ(other->can(kRowsChoice, Codec::kRaw), enough);
    other->take(kRowsChoice);
    EXPECT_EQ(other->can(kRowsChoice, Codec::kRaw), enough) << "with the rows there";
    EXPECT_TRUE(other->can(kLanesChoice, Codec::kRaw)) << "the rows would go";
  }
}

TEST(OpenClBackend, GoesOnAfterCommandsForWhichThereWasNoMemory) {
  const NoFaultsAfterwards restore;
  const Shape shape{50, 50};
  const auto plan = simple_plan(shape);
  const auto frames = frames_of_all_codecs(shape, 16);
  for (Fault* fault : {&kernel_fault, &read_fault, &finish_fault}) {
    for (int before = 0; before < 8; ++before) {
      auto settings = checked(kLanesChoice);
      settings.profile = std::make_shared<opencl::Profile>();
      under_way_at_fault = 0;
      fault->arm(before, 2, CL_OUT_OF_RESOURCES);
      // A queue that cannot even be waited for is given up.
      if (fault != &finish_fault) expect_same_results(plan, frames, settings, {.threads = 1});
      if (fault == &finish_fault) {
        EXPECT_THAT(device_refusal([&] { reduce_by_opencl(plan, frames, settings, {.threads = 1}); }),
                    HasSubstr("clFinish: CL_OUT_OF_RESOURCES"));
      }
      EXPECT_EQ(fault->happened, 2) << before;
      EXPECT_EQ(under_way_at_fault, 0) << "reads into memory that the fault frees";
      if (fault == &finish_fault && before == 3) break;
    }
  }
}

TEST(OpenClBackend, NamesTheDeviceThatFails) {
  const NoFaultsAfterwards restore;
  const Shape shape{50, 50};
  const auto plan = simple_plan(shape);
  const auto frames = frames_of_all_codecs(shape, 4);
  const auto fails = [&] { reduce_by_opencl(plan, frames, checked(kLanesChoice), {.threads = 1}); };
  for (const int session_or_batch : {0, 1}) {
    queue_fault.arm(session_or_batch, 1, CL_OUT_OF_HOST_MEMORY);
    EXPECT_THAT(device_refusal(fails), HasSubstr("clCreateCommandQueue: CL_OUT_OF_HOST_MEMORY"));
  }
  read_fault.arm(1, 1, CL_INVALID_COMMAND_QUEUE);
  EXPECT_THAT(device_refusal(fails), HasSubstr("clEnqueueReadBuffer: OpenCL code -36"));
  kernel_fault.arm(0, 1000, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_THAT(device_refusal(fails), HasSubstr("even for one frame at a time"));
  kernel_fault.arm(0, 1000000, CL_INVALID_WORK_GROUP_SIZE);
  opencl::SessionSettings tuned;
  tuned.check_bounds = true;
  EXPECT_THAT(device_refusal([&] {
                make_session(simple_plan(Shape{3, 5}, 7), tuned);
              }),
              HasSubstr("in no way: what was tried last failed with clEnqueueNDRangeKernel: "
                        "CL_INVALID_WORK_GROUP_SIZE"));
}

TEST(OpenClBackend, RefusesNamesThatAreEmpty) {
  for (const char* which : {"", "/2", "0,/2", "0,"}) {
    try {
      opencl::select_devices(which);
      ADD_FAILURE() << which;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage) << which;
      EXPECT_THAT(error.what(), HasSubstr("names no device"));
    }
  }
}

// A block of LZ4 as its description has it: four literals, a match of 12 bytes at some distance, then five
// literals.
Frame frame_with_match(std::uint8_t distance) {
  const Shape shape{3, 7};
  const std::array<std::uint8_t, 13> block = {0x48, 1, 2, 3, 4, distance, 0, 0x50, 5, 6, 7, 8, 9};
  std::vector<std::uint8_t> bytes = {0, 0, 0, 0, 0, 0, 0, 21, 0, 0, 0, 21, 0, 0, 0, block.size()};
  bytes.insert(bytes.end(), block.begin(), block.end());
  Frame frame = raw_frame(shape, PixelType::kU8, {});
  frame.codec = Codec::kLz4;
  const auto view = std::as_bytes(std::span(bytes));
  frame.payload = Bytes(std::vector<std::byte>(view.begin(), view.end()));
  return frame;
}

TEST(OpenClBackend, TakesMatchesAtDistancesFromOneToWhatPrecedesThem) {
  IntegrationOptions options;
  options.bins = 4;
  const Shape shape{3, 7};
  const auto plan = std::make_shared<const Plan>(
      build_plan(small_geometry(shape), options, {}, {"test", shape, PixelType::kU8}));
  opencl::Batch batch(make_session(plan, checked(kLanesChoice)));
  for (const auto& [distance, faulty] :
       {std::pair{0, true}, std::pair{1, false}, std::pair{4, false}, std::pair{5, true}}) {
    const Frame frame = frame_with_match(static_cast<std::uint8_t>(distance));
    const Frame* const pointer = &frame;
    EXPECT_EQ(batch.reduce(std::span(&pointer, 1)).front().faulty, faulty) << distance;
  }
}

}  // namespace
}  // namespace annulus::testing
