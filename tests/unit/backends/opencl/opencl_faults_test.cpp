// An OpenCL device that is short of memory, fails or is not what a frame needs.
#include <annulus/backends/opencl/batch.hpp>

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>

#include "opencl_fixture.hpp"

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
Fault kernel_fault, read_fault, finish_fault, queue_fault, info_fault;
std::atomic<int> reads_under_way = 0;
std::atomic<int> under_way_at_fault = 0;

struct NoFaultsAfterwards {
  ~NoFaultsAfterwards() {
    for (Fault* fault : {&kernel_fault, &read_fault, &finish_fault, &queue_fault, &info_fault})
      fault->after = -1;
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

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room, void* value, size_t* size) {
  static const auto loaders = annulus::testing::next_definition<decltype(clGetDeviceInfo)>(__func__);
  if (const cl_int code = annulus::testing::info_fault.next()) return code;
  return loaders(device, what, room, value, size);
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

using ::testing::HasSubstr;

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
    frames.back().id.index = i;
  }
  return frames;
}

std::shared_ptr<opencl::Session> make_session(const Job& job, const opencl::SessionSettings& settings) {
  const auto session = std::make_shared<opencl::Session>(opencl::select_devices("0").front(), job, settings);
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

TEST(OpenClFaults, GivesRightSumsOrADevicesRefusalWithAnyMemory) {
  const Shape shape{150, 150};
  const auto job = simple_job(shape);
  const auto frames = frames_of_all_codecs(shape, 24);
  const auto expected = reduce_by_cpu(job, frames);
  const auto works = [&](opencl::SessionSettings settings) {
    return device_refusal([&] { expect_same_results(reduce_by_opencl(job, frames, settings), expected); })
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

TEST(OpenClFaults, OneThreadLeavesTheOthersShareOfMemory) {
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
    const auto session = make_session(simple_job(shape), settings);
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

TEST(OpenClFaults, LetsGoOfTheRowsThatAnotherMethodDoesNotNeed) {
  auto settings = checked(kLanesChoice);
  settings.memory = 4 << 20;
  const auto session = make_session(simple_job(Shape{200, 200}), settings);
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
  const auto narrow = make_session(simple_job(Shape{200, 200}), settings);
  const std::uint64_t before = narrow->memory().left();
  EXPECT_FALSE(narrow->can(kRowsChoice, Codec::kRaw));
  EXPECT_THAT(device_refusal([&] { narrow->take(kRowsChoice); }), HasSubstr("out of memory"));
  EXPECT_EQ(narrow->memory().left(), before);
  EXPECT_EQ(narrow->choice(), kLanesChoice);
}

TEST(OpenClFaults, CountsTheRowsThatAMethodStillHasToSend) {
  auto settings = checked(kLanesChoice);
  settings.memory = 4 << 20;
  const auto job = simple_job(Shape{200, 200});
  const auto session = make_session(job, settings);
  const std::uint64_t plan_bytes = settings.memory - session->memory().left();
  session->take(kRowsChoice);
  const std::uint64_t plan_and_rows = settings.memory - session->memory().left();
  const std::uint64_t frame = session->batch_bytes(1, kRowsChoice, Codec::kRaw);
  ASSERT_GT(plan_and_rows - plan_bytes, frame / 2);
  for (const bool enough : {false, true}) {
    settings.memory = plan_and_rows + (enough ? frame : frame / 2);
    const auto other = make_session(job, settings);
    EXPECT_EQ(other->can(kRowsChoice, Codec::kRaw), enough);
    other->take(kRowsChoice);
    EXPECT_EQ(other->can(kRowsChoice, Codec::kRaw), enough) << "with the rows there";
    EXPECT_TRUE(other->can(kLanesChoice, Codec::kRaw)) << "the rows would go";
  }
}

TEST(OpenClFaults, GoesOnAfterCommandsForWhichThereWasNoMemory) {
  const NoFaultsAfterwards restore;
  const Shape shape{50, 50};
  const auto job = simple_job(shape);
  const auto frames = frames_of_all_codecs(shape, 16);
  for (Fault* fault : {&kernel_fault, &read_fault, &finish_fault}) {
    for (int before = 0; before < 8; ++before) {
      auto settings = checked(kLanesChoice);
      settings.profile = std::make_shared<opencl::Profile>();
      under_way_at_fault = 0;
      fault->arm(before, 2, CL_OUT_OF_RESOURCES);
      // A queue that cannot even be waited for is given up.
      if (fault != &finish_fault) expect_as_cpu(job, frames, settings, {.threads = 1});
      if (fault == &finish_fault) {
        EXPECT_THAT(device_refusal([&] { reduce_by_opencl(job, frames, settings, {.threads = 1}); }),
                    HasSubstr("clFinish: CL_OUT_OF_RESOURCES"));
      }
      EXPECT_EQ(fault->happened, 2) << before;
      EXPECT_EQ(under_way_at_fault, 0) << "reads into memory that the fault frees";
      if (fault == &finish_fault && before == 3) break;
    }
  }
}

TEST(OpenClFaults, NamesTheDeviceThatFails) {
  const NoFaultsAfterwards restore;
  const Shape shape{50, 50};
  const auto job = simple_job(shape);
  const auto frames = frames_of_all_codecs(shape, 4);
  const auto fails = [&] { reduce_by_opencl(job, frames, checked(kLanesChoice), {.threads = 1}); };
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
                make_session(simple_job(Shape{3, 5}, 7), tuned);
              }),
              HasSubstr("in no way: what was tried last failed with clEnqueueNDRangeKernel: "
                        "CL_INVALID_WORK_GROUP_SIZE"));
}

TEST(OpenClFaults, ListsADeviceThatDoesNotAnswer) {
  const NoFaultsAfterwards restore;
  const auto listed = opencl::describe_devices();
  ASSERT_FALSE(listed.empty());
  info_fault.arm(0, 1000, CL_DEVICE_NOT_AVAILABLE);
  const auto silent = opencl::describe_devices();
  ASSERT_EQ(silent.size(), listed.size());
  EXPECT_FALSE(silent.front().usable);
  EXPECT_EQ(
      silent.front().text,
      "0:0 unnamed: cannot be used: its driver does not answer: clGetDeviceInfo: CL_DEVICE_NOT_AVAILABLE");
  info_fault.arm(0, 1000, CL_DEVICE_NOT_AVAILABLE);
  EXPECT_THAT(device_refusal([] { opencl::select_devices("0"); }), HasSubstr("its driver does not answer"));
}

TEST(OpenClFaults, AnyQuestionThatADeviceDoesNotAnswerIsAFaultOfTheDevice) {
  const NoFaultsAfterwards restore;
  const Shape shape{50, 50};
  const auto job = simple_job(shape);
  const auto frames = frames_of_all_codecs(shape, 4);
  int questions = 0;
  for (bool happened = true; happened; ++questions) {
    info_fault.arm(questions, 1, CL_OUT_OF_HOST_MEMORY);
    device_refusal([&] { reduce_by_opencl(job, frames, checked(kLanesChoice), {.threads = 1}); });
    happened = info_fault.happened > 0;
    ASSERT_FALSE(HasFailure()) << "question " << questions;
  }
  EXPECT_GT(questions, 5);
}

TEST(OpenClFaults, RefusesNamesThatAreEmpty) {
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

TEST(OpenClFaults, TakesMatchesAtDistancesFromOneToWhatPrecedesThem) {
  IntegrationOptions options;
  options.bins = 4;
  const Shape shape{3, 7};
  const auto plan = std::make_shared<const Plan>(
      build_plan(small_geometry(shape), options, {}, {"test", shape, PixelType::kU8}));
  opencl::Batch batch(make_session({plan}, checked(kLanesChoice)));
  for (const auto& [distance, faulty] :
       {std::pair{0, true}, std::pair{1, false}, std::pair{4, false}, std::pair{5, true}}) {
    const Frame frame = frame_with_match(static_cast<std::uint8_t>(distance));
    const Frame* const pointer = &frame;
    EXPECT_EQ(batch.reduce(std::span(&pointer, 1)).front().faulty, faulty) << distance;
  }
}

}  // namespace
}  // namespace annulus::testing
