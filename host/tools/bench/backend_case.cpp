#include <annulus/backends/cpu/cpu_reducer.hpp>
#include <annulus/backends/registry.hpp>
#include <annulus/core/error.hpp>

#include <tools/bench/backend_case.hpp>

#include <algorithm>

namespace annulus {
namespace {

constexpr const char* kBackend = "cpu";
constexpr std::uint64_t kBatchesAThread = 4;

// Submits frames in batches, as many at a time as the backend holds, and looks at each result.
void reduce(Backend& backend, const Workload& workload, std::uint64_t count, FrameResult* first) {
  const std::vector<Frame>& frames = workload.frames;
  const auto frame_at = [&](std::uint64_t i) -> const Frame& { return frames[i % frames.size()]; };
  const Load load = backend.loaded();
  std::uint64_t submitted = 0;
  std::uint64_t collected = 0;
  std::size_t in_backend = 0;
  while (collected < count) {
    while (submitted < count && in_backend < load.in_flight) {
      std::vector<Frame> batch;
      while (batch.size() < load.batch && submitted < count) batch.push_back(frame_at(submitted++));
      backend.submit(std::move(batch));
      ++in_backend;
    }
    for (FrameResult& result : backend.collect()) {
      demand_good(result, frame_at(collected));
      if (collected == 0 && first != nullptr) *first = std::move(result);
      ++collected;
    }
    --in_backend;
  }
}

}  // namespace

BackendOptions BackendCase::options() const {
  BackendOptions options;
  options.threads = threads;
  options.cpu.instruction_set = name_of(instruction_set);
  options.cpu.batch = batch;
  return options;
}

std::unique_ptr<Backend> BackendCase::start(const Workload& workload) const {
  auto backend = make_backend(kBackend, options());
  const Load load = backend->load(workload.job);
  reduce(*backend, workload, load.in_flight * load.batch, nullptr);
  return backend;
}

Work work_of(const BackendCase& backend_case, const Workload& workload) {
  const std::size_t batch =
      backend_case.batch > 0 ? backend_case.batch : cpu_batch_size(backend_case.instruction_set);
  const std::uint64_t at_once = backend_case.threads * batch;
  const std::uint64_t least = std::max<std::uint64_t>(workload.frames.size(), kBatchesAThread * at_once);
  Work work;
  work.frames = (least + at_once - 1) / at_once * at_once;  // no thread idles at the end for want of a batch
  work.pixels = work.frames * workload.job.plan->pixels();
  for (std::uint64_t i = 0; i < work.frames; ++i) {
    work.bytes += workload.frames[i % workload.frames.size()].payload.size();
  }
  return work;
}

void time_backend(const BackendCase& backend_case, const Workload& workload, std::uint64_t frames,
                  std::vector<double>& seconds) {
  const auto backend = backend_case.start(workload);
  FrameResult first;
  seconds.push_back(seconds_of([&] { reduce(*backend, workload, frames, &first); }));
  demand_expected(first, workload);
}

void demand_good(const FrameResult& result, const Frame& frame) {
  if (!result.good()) throw Error(ErrorKind::kInput, describe(frame), result.fault(), "measure good frames");
}

void demand_expected(const FrameResult& first, const Workload& workload) {
  if (!workload.expected->has(Quantity::kSignal)) *workload.expected = first.sums();
  if (*workload.expected == first.sums()) return;
  throw Error(ErrorKind::kBackend, kBackend, "its sums depend on how it is run",
              "this is a fault of the program: please report it");
}

}  // namespace annulus
