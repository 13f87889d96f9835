// A scan holds no more memory for frames than it was given, however many frames it has.
#include <annulus/backends/registry.hpp>
#include <annulus/core/buffer_pool.hpp>
#include <annulus/engine/reduce.hpp>
#include <annulus/sources/file_stream.hpp>
#include <annulus/sources/writers.hpp>

#include <gmock/gmock.h>

#include <thread>

#include "naive_reduction.hpp"
#include "plan_fixtures.hpp"
#include "scratch_folder.hpp"

namespace annulus::testing {
namespace {

// Compressed frames, each file named many times over: of sizes between one and five bytes a pixel, or like
// those of an ordinary scan, which differ by a few percent.
struct LargeScan {
  static constexpr std::size_t kFiles = 10;
  Shape shape{120, 300};  // frames that are read into buffers, not mapped
  std::shared_ptr<const Plan> plan;
  std::vector<std::string> urls;
  std::vector<Sums> expected;
  std::size_t largest = 0;  // buffer of a frame

  LargeScan(const ScratchFolder& folder, std::size_t frames, bool ordinary = false) {
    IntegrationOptions options;
    options.bins = 20;
    plan = std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape}));
    std::mt19937_64 random(3);
    std::vector<std::string> files;
    std::vector<Sums> sums;
    for (std::size_t file = 0; file < kFiles; ++file) {
      std::vector<std::int32_t> pixels(shape.size());
      const std::uint64_t mixed = file % 3 == 0 ? 60 : file % 3 == 1 ? 20000 : 1000000;
      const std::uint64_t range = ordinary ? 120 + 4 * file : mixed;
      for (std::int32_t& pixel : pixels) pixel = static_cast<std::int32_t>(random() % range);
      const std::string path = folder.file("frame_" + std::to_string(file) + ".cbf");
      write_cbf(path, shape, pixels);
      files.push_back(path);
      sums.push_back(reduce_naively(*plan, {pixels.begin(), pixels.end()}, 0));
      largest = std::max(largest, BufferPool::most_for(std::filesystem::file_size(path)));
    }
    for (std::size_t i = 0; i < frames; ++i) {
      urls.push_back(files[i * 7 % kFiles]);
      expected.push_back(sums[i * 7 % kFiles]);
    }
  }
};

class CheckingSink : public Sink {
 public:
  explicit CheckingSink(const LargeScan& scan) : scan_(scan) {}
  std::size_t frames = 0;
  std::size_t most_in_use = 0;

  void append(const std::vector<ReducedFrame>& batch) override {
    for (const ReducedFrame& frame : batch) {
      EXPECT_EQ(frame.sums, scan_.expected[frames++]);
    }
    const auto memory = frame_memory().statistics();
    most_in_use = memory.most_in_use;
    EXPECT_LE(memory.in_use + memory.idle, memory.most_in_use);
  }
  void flush() override {}
  void close() override {}

 private:
  const LargeScan& scan_;
};

// The whole scan, within that memory.
ReductionSummary reduce_within(const LargeScan& scan, std::uint64_t memory, unsigned readers,
                               Backend& backend, Sink& sink) {
  FileStreamSettings files;
  files.open.map_payloads = true;
  files.threads = readers;
  files.memory = memory;
  FileStream stream(scan.urls, std::move(files));
  ReductionSettings settings;
  settings.keep_going = true;
  settings.memory_for_frames = memory;
  return reduce(stream, {scan.plan}, backend, sink, settings);
}

std::size_t most_in_use(const LargeScan& scan, std::size_t memory, unsigned threads, unsigned readers) {
  frame_memory().free_idle();
  EXPECT_EQ(frame_memory().statistics().in_use, 0u);
  CheckingSink sink(scan);
  const auto backend = make_backend("cpu", {threads});
  backend->load({scan.plan});
  EXPECT_EQ(reduce_within(scan, memory, readers, *backend, sink).frames, scan.urls.size());
  EXPECT_EQ(frame_memory().statistics().in_use, 0u);
  EXPECT_EQ(frame_memory().statistics().idle, 0u);
  return sink.most_in_use;
}

TEST(Memory, FramesStayWithinTheBoundForAnyNumberOfThreadsAndReaders) {
  const ScratchFolder folder;
  const LargeScan scan(folder, 120);
  for (const std::size_t frames : {1, 3, 10, 40}) {
    const std::size_t memory = frames * scan.largest;
    for (const unsigned threads : {1u, 3u}) {
      for (const unsigned readers : {1u, 4u}) {
        const std::size_t most = most_in_use(scan, memory, threads, readers);
        EXPECT_LE(most, memory) << threads << " threads, " << readers << " readers";
        EXPECT_GT(most, 0u);
      }
    }
  }
}

TEST(Memory, DoesNotGrowWithTheNumberOfFrames) {
  const ScratchFolder folder;
  const LargeScan scan(folder, 1500);
  const std::size_t memory = 12 * scan.largest;
  EXPECT_LE(most_in_use(scan, memory, 2, 2), memory);
}

// Hands everything on to the cpu backend, and notes how many frames come at a time.
class NotingBackend : public Backend {
 public:
  std::vector<std::size_t> batches;

  Load load(Job job) override { return cpu_->load(std::move(job)); }
  Load loaded() const override { return cpu_->loaded(); }
  void submit(std::vector<Frame> batch) override {
    batches.push_back(batch.size());
    cpu_->submit(std::move(batch));
  }
  void finish() override { cpu_->finish(); }
  std::vector<FrameResult> collect() override { return cpu_->collect(); }
  double busy_seconds() const override { return cpu_->busy_seconds(); }

 private:
  std::unique_ptr<Backend> cpu_ = make_backend("cpu", {2});
};

// Lanes of a vector that have no frame are lost: at two threads this once cost a third of the speed.
std::vector<std::size_t> batches_of_two_threads(std::size_t frames) {
  const ScratchFolder folder;
  const LargeScan scan(folder, frames, true);
  NotingBackend backend;
  const Load load = backend.load({scan.plan});
  EXPECT_EQ(load.batch * load.in_flight, 64u);
  CheckingSink sink(scan);
  EXPECT_EQ(reduce_within(scan, 105 * scan.largest, 2, backend, sink).frames, frames);
  return backend.batches;
}

TEST(Memory, BatchesAreFullIfTheBackendAndOneMoreFit) {
  EXPECT_EQ(batches_of_two_threads(160), std::vector<std::size_t>(10, 16));
}

TEST(Reduction, LastFramesAreDealtOutEvenly) {
  using ::testing::ElementsAre;
  EXPECT_THAT(batches_of_two_threads(80), ElementsAre(16, 16, 16, 16, 8, 8));
  EXPECT_THAT(batches_of_two_threads(59), ElementsAre(16, 16, 14, 13));
  EXPECT_THAT(batches_of_two_threads(33), ElementsAre(16, 16, 1));
}

TEST(Memory, FrameLargerThanTheBoundIsHeldAlone) {
  const ScratchFolder folder;
  const LargeScan scan(folder, 50);
  EXPECT_LE(most_in_use(scan, 1, 2, 3), scan.largest);
}

TEST(Memory, ScanUsesTheSameBuffersAgain) {
  const ScratchFolder folder;
  const LargeScan scan(folder, 400, true);
  const auto before = frame_memory().statistics();
  most_in_use(scan, 10 * scan.largest, 2, 2);
  const auto after = frame_memory().statistics();
  EXPECT_EQ(after.fresh - before.fresh + after.reused - before.reused, 400u);
  EXPECT_LT(after.fresh - before.fresh, 60u);
}

TEST(Memory, FilesOpenedAheadHoldNoFrames) {
  const ScratchFolder folder;
  const LargeScan scan(folder, 20);
  FileStreamSettings files;
  files.threads = 4;
  FileStream stream(scan.urls, std::move(files));
  stream.read_ahead(1);
  const auto first = stream.next({});
  ASSERT_TRUE(first && std::holds_alternative<Frame>(*first));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(frame_memory().statistics().in_use, 2 * scan.largest);
}

TEST(Memory, AStreamHoldsToItWhateverTheCallerKeeps) {
  const ScratchFolder folder;
  const LargeScan scan(folder, 20);
  FileStreamSettings files;
  files.memory = 2 * scan.largest;
  FileStream stream(scan.urls, files);
  std::vector<Frame> held;
  int pauses = 0;
  std::size_t frames = 0;
  while (auto item = stream.next({})) {
    if (std::holds_alternative<Pause>(*item)) {
      ++pauses;
      EXPECT_FALSE(held.empty());
      held.clear();
      continue;
    }
    ASSERT_TRUE(std::holds_alternative<Frame>(*item)) << frames;
    held.push_back(std::get<Frame>(std::move(*item)));
    EXPECT_EQ(held.back().id.index, frames++);
    EXPECT_LE(frame_memory().statistics().in_use, files.memory);
  }
  EXPECT_GT(pauses, 2);
  EXPECT_EQ(frames, 20u);
}

// Bad frames take no memory and are in no backend; what is told of them is bounded all the same.
TEST(Memory, ManyMissingFilesComeToAnEnd) {
  const ScratchFolder folder;
  LargeScan scan(folder, 1);
  scan.urls.resize(10000, folder.file("missing.cbf"));
  scan.urls.push_back(scan.urls.front());
  struct CountingSink : Sink {
    std::size_t good = 0, bad = 0;
    void append(const std::vector<ReducedFrame>& batch) override {
      for (const ReducedFrame& frame : batch) ++(frame.fault.empty() ? good : bad);
    }
    void flush() override {}
    void close() override {}
  } sink;
  const auto backend = make_backend("cpu", {2});
  backend->load({scan.plan});
  EXPECT_EQ(reduce_within(scan, std::uint64_t{512} << 20, 2, *backend, sink).bad, 9999u);
  EXPECT_EQ(sink.good, 2u);
  EXPECT_EQ(sink.bad, 9999u);
}

}  // namespace
}  // namespace annulus::testing
