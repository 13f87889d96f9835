// Kernels on an OpenCL device behind the backend interface, against the CPU backend.
#include <annulus/backends/opencl/devices.hpp>
#include <annulus/codecs/encode_blocks.hpp>

#include "opencl_fixture.hpp"

namespace annulus::testing {
namespace {

using ::testing::HasSubstr;

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
      frames.back().id.index = 1000 + i;
      frames.back().fraction_bits = static_cast<int>(random() % 5);
    }
    expect_as_cpu({plan, random_recipe(random)}, frames,
                  checked(choices[static_cast<std::size_t>(round) % choices.size()]));
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
  const auto job = simple_job(shape);
  std::vector<Frame> frames;
  for (const unsigned long_ones : {0u, 1u, 4u, 12u, 16u}) {
    for (int i = 0; i < 5; ++i) frames.push_back(frame_of_all_codes(random, shape, long_ones));
  }
  for (const std::uint32_t segment : {16u, 17u, 31u, 100u, 4096u}) {
    Choice choice{Method::kLanes, 2, 1, 1024, segment, 8, segment % 2 + 1};
    expect_as_cpu(job, frames, checked(choice));
  }
}

TEST(OpenClBackend, SaysOfDamagedFramesWhatTheCpuSays) {
  std::mt19937_64 random(53);
  const Shape shape{50, 70};
  const auto job = simple_job(shape);
  const Frame good = byte_offset_frame(shape, random_pixels(random, PixelType::kI32, shape.size()));
  const std::vector<Frame> frames = damaged_frames(random, good, 200);
  for (const Choice& choice : some_choices()) expect_as_cpu(job, frames, checked(choice));
}

TEST(OpenClBackend, TellsValuesThatLeaveInt32OnBothSides) {
  const Shape shape{20, 20};
  const auto job = simple_job(shape);
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
  for (const Choice& choice : some_choices()) expect_as_cpu(job, frames, checked(choice));
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
    for (const Choice& choice : some_choices())
      expect_as_cpu({plan, random_recipe(random)}, frames, checked(choice));
  }
}

TEST(OpenClBackend, SharesAScanAmongDevicesAndKeepsTheOrder) {
  std::mt19937_64 random(54);
  const Shape shape{40, 40};
  const auto job = simple_job(shape, 30, ErrorModel::kPoisson);
  CommonOptions options;
  // A device with one compute unit cannot be split, but named twice.
  const bool can_split =
      opencl::select_devices("0:0").front().device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>() > 1;
  options.device = can_split ? "0:0/2" : "0:0,0:0";
  const auto backend = make_opencl_backend(options, checked({Method::kLanes, 2, 1, 1 << 16, 64, 8, 1}));
  const Load load = backend->load(job);
  EXPECT_EQ(load.workers, 4u) << "two threads on each of two devices";
  EXPECT_EQ(load.in_flight, 8u);
  EXPECT_EQ(backend->loaded(), load);
  std::vector<std::vector<Frame>> batches;
  for (std::uint64_t b = 0; b < 8; ++b) {
    auto& batch = batches.emplace_back();
    for (std::uint64_t i = 0; i < 4; ++i) {
      batch.push_back(byte_offset_frame(shape, random_pixels(random, PixelType::kI32, shape.size())));
      batch.back().id.index = b * 4 + i;
    }
    backend->submit(batch);
  }
  backend->finish();
  for (const auto& batch : batches) {
    expect_same_results(backend->collect(), reduce_by_cpu(job, batch));
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
  expect_as_cpu(simple_job(shape), frames, settings);
}

TEST(OpenClBackend, TakesMoreBinsThanPixels) {
  std::mt19937_64 random(56);
  const Shape shape{60, 60};
  const auto job = simple_job(shape, 100000);
  const std::vector<Frame> frames(
      3, byte_offset_frame(shape, random_pixels(random, PixelType::kI32, shape.size())));
  expect_as_cpu(job, frames, checked({Method::kLanes, 2, 1, 1 << 16, 64, 8, 1}));
  expect_as_cpu(job, frames, checked({Method::kRows, 1, 4, 1 << 16, 64, 8, 1}));
}

TEST(OpenClBackend, TakesFewerFramesAtATimeWhereMemoryIsShort) {
  std::mt19937_64 random(57);
  const Shape shape{200, 200};
  std::vector<Frame> frames;
  for (int i = 0; i < 16; ++i)
    frames.push_back(byte_offset_frame(shape, random_pixels(random, PixelType::kI32, shape.size())));
  auto settings = checked({Method::kRows, 1, 4, 1 << 20, 1024, 8, 1});
  settings.memory = std::uint64_t{3} << 20;  // the plan takes about 1 MiB of it, a batch of 16 frames 4 MiB
  expect_as_cpu(simple_job(shape), frames, settings, {.threads = 1});
}

TEST(OpenClBackend, RefusesWhatHasNoRoom) {
  const auto refusal = [](std::uint64_t memory, const Choice& choice) -> std::string {
    auto settings = checked(choice);
    settings.memory = memory;
    try {
      make_opencl_backend({}, settings)->load(simple_job(Shape{200, 200}));
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
    make_opencl_backend({}, settings)->load(simple_job(Shape{20, 20}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBackend);
    EXPECT_THAT(error.what(), HasSubstr("no_such_name"));
  }
}

// Which warnings a driver has depends on the processor it compiles for.
TEST(OpenClBackend, WarningsOfADriverStopNothing) {
  const Shape shape{20, 20};
  std::mt19937_64 random(1);
  auto settings = checked(some_choices().front());
  settings.extra_source = "\nkernel void doubtful(global int* p) { p[0] = 1 / 0; }\n";
  expect_as_cpu(simple_job(shape),
                {byte_offset_frame(shape, random_pixels(random, PixelType::kI32, shape.size()))}, settings,
                {.threads = 1});
}

TEST(OpenClBackend, NamesTheDevicesThereAreWhenNoneIsMeant) {
  for (const char* which : {"17", "5:0", "no such thing"}) {
    CommonOptions options;
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
  backend->load(simple_job(shape));
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

}  // namespace
}  // namespace annulus::testing
