#include <annulus/backends/common/threaded_backend.hpp>
#include <annulus/backends/fpga/check_result.hpp>
#include <annulus/backends/fpga/fpga_backends.hpp>
#include <annulus/backends/fpga/kernel_launch.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>

#include <fmt/core.h>
#include <hls/config.hpp>
#include <launch.hpp>

namespace annulus {
namespace {

constexpr const char* kModelName = "model";

// Frames of a launch: more than one, so that what goes from frame to frame is always exercised; not many,
// since a launch in sequence keeps all that flows between two stages.
constexpr std::size_t kModelBatch = 2;

Error fault_of_kernels(const std::string& what) {
  return Error(ErrorKind::kBackend, kModelName, what, "this is a fault of the kernels: please report it");
}

class ModelReducer final : public BatchReducer {
 public:
  ModelReducer(Job job, std::shared_ptr<const DevicePlan> packed)
      : job_(std::move(job)), packed_(std::move(packed)) {}

  std::vector<FrameResult> reduce(const std::vector<Frame>& frames) override {
    return reduce_by_launches(
        job_, frames, true,
        [this](Codec codec, std::span<const Frame* const> launched) { return launch(codec, launched); });
  }

 private:
  LaunchSums launch(Codec codec, std::span<const Frame* const> frames) const {
    const PackedFrames packed_frames = pack_frames(frames);
    LaunchSums sums;
    annulus_sim::Launch launch(annulus_sim::Mode::kSequential);
    try {
      launch.run([&] { sums = call_kernel(*packed_, codec, frames.front()->type, packed_frames); });
    } catch (const annulus_sim::SimulationError& error) {
      throw fault_of_kernels(error.what());
    }
    const std::string fault = launch_fault(*packed_, frames, packed_frames.descriptors, sums);
    if (!fault.empty()) throw fault_of_kernels(fault);
    return sums;
  }

  Job job_;
  std::shared_ptr<const DevicePlan> packed_;
};

}  // namespace

std::unique_ptr<Backend> make_model_backend(const CommonOptions& common) {
  ThreadedSettings settings;
  settings.name = kModelName;
  settings.prepare = [threads = resolve_threads(common.threads)](const Job& job) -> LoadedJob {
    const auto packed = std::make_shared<const DevicePlan>(pack_plan(*job.plan, job.recipe, kModelName));
    return {[job, packed] { return std::make_unique<ModelReducer>(job, packed); }, threads, kModelBatch};
  };
  return make_threaded_backend(std::move(settings));
}

BackendDescription describe_model_backend() {
  return {kModelName, true,
          fmt::format("the FPGA kernels in software, up to {} bins; to check them, not to be fast",
                      kernels::kMaxBins)};
}

}  // namespace annulus
