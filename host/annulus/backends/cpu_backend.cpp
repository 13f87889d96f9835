#include <annulus/backends/cpu_backend.hpp>
#include <annulus/backends/cpu_reducer.hpp>
#include <annulus/core/parallel.hpp>

namespace annulus {

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options) {
  ThreadedSettings settings;
  settings.name = "cpu";
  settings.batch_size = kCpuLanes;
  settings.prepare = [threads =
                          resolve_threads(options.threads)](std::shared_ptr<const Plan> plan) -> LoadedPlan {
    return {[plan] { return std::make_unique<CpuReducer>(plan); }, threads};
  };
  return make_threaded_backend(std::move(settings));
}

}  // namespace annulus
