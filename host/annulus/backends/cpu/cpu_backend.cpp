#include <annulus/backends/cpu/cpu_backend.hpp>
#include <annulus/backends/cpu/cpu_reducer.hpp>
#include <annulus/backends/cpu/latency_reducer.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace annulus {
namespace {

constexpr const char* kCpuName = "cpu";
constexpr const char* kBest = "best";
constexpr unsigned kMostFramesPerBatch = 256;

InstructionSet chosen_set(const CpuOptions& options) {
  if (options.instruction_set == kBest) return best_instruction_set();
  std::string available = kBest;
  for (const InstructionSet set : available_instruction_sets()) {
    if (name_of(set) == options.instruction_set) return set;
    available += fmt::format(", {}", name_of(set));
  }
  throw Error(ErrorKind::kUsage, "`instruction_set`",
              fmt::format("'{}' is not available here", options.instruction_set),
              fmt::format("this machine has: {}", available));
}

}  // namespace

void check(const CpuOptions& options) {
  if (options.batch > kMostFramesPerBatch) {
    throw Error(ErrorKind::kUsage, "`batch`", fmt::format("{} frames are not sensible", options.batch),
                fmt::format("at most {}; 0 chooses", kMostFramesPerBatch));
  }
  if (options.latency && options.batch > 1) {
    throw Error(ErrorKind::kUsage, "`latency`", "it takes frames one by one", "leave `batch` out");
  }
  chosen_set(options);
}

namespace {

void check(const CpuOptions& options, const Recipe& recipe) {
  if (recipe.beyond_sums().empty()) return;
  if (options.latency) {
    throw Error(ErrorKind::kUsage, "`latency`", fmt::format("it cannot do {}", recipe.beyond_sums()),
                "leave it out");
  }
  if (recipe.clip.by_rank() && options.batch > 1) {
    throw Error(ErrorKind::kUsage, "`batch`",
                fmt::format("{} are made of one frame at a time in each thread", recipe.beyond_sums()),
                "leave it out");
  }
}

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const CommonOptions& common, const CpuOptions& options) {
  check(options);
  const InstructionSet set = chosen_set(options);
  const unsigned threads = resolve_threads(common.threads);
  ThreadedSettings settings;
  settings.name = kCpuName;
  settings.any_recipe = true;
  settings.prepare = [=](const Job& job) -> LoadedJob {
    check(options, job.recipe);
    const auto shared = make_cpu_plan(job, threads);
    if (options.latency) return {[=] { return make_latency_reducer(shared, set, threads); }, 1, 1};
    const std::size_t batch = options.batch > 0 ? options.batch : cpu_batch_size(set, job);
    return {[=] { return std::make_unique<CpuReducer>(shared, set); }, threads, batch};
  };
  return make_threaded_backend(std::move(settings));
}

BackendDescription describe_cpu_backend() {
  return {kCpuName, true, fmt::format("{} threads", resolve_threads(0))};
}

}  // namespace annulus
