#include <annulus/backends/cpu/cpu_backend.hpp>
#include <annulus/backends/cpu/cpu_reducer.hpp>
#include <annulus/backends/cpu/latency_reducer.hpp>
#include <annulus/core/parallel.hpp>

namespace annulus {

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options) {
  const InstructionSet set = options.instruction_set.value_or(best_instruction_set());
  const unsigned threads = resolve_threads(options.threads);
  ThreadedSettings settings;
  settings.name = "cpu";
  if (options.latency) {
    settings.prepare = [=](const Job& job) -> LoadedJob {
      const auto shared = make_cpu_plan(job, threads);
      return {[=] { return make_latency_reducer(shared, set, threads); }, 1, 1};
    };
  } else {
    settings.prepare = [=, batch = options.batch](const Job& job) -> LoadedJob {
      const std::size_t suits = batch > 0 ? batch : cpu_batch_size(set, job);
      const auto shared = make_cpu_plan(job, threads);
      return {[=] { return std::make_unique<CpuReducer>(shared, set); }, threads, suits};
    };
  }
  return make_threaded_backend(std::move(settings));
}

}  // namespace annulus
