#include <annulus/backends/cpu_backend.hpp>
#include <annulus/backends/cpu_reducer.hpp>
#include <annulus/core/parallel.hpp>

namespace annulus {

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options) {
  ThreadedSettings settings;
  settings.name = "cpu";
  settings.threads = resolve_threads(options.threads);
  settings.batch_size = kCpuLanes;
  settings.prepare = [](std::shared_ptr<const Plan> plan) -> MakeReducer {
    return [plan] { return std::make_unique<CpuReducer>(plan); };
  };
  return make_threaded_backend(std::move(settings));
}

}  // namespace annulus
