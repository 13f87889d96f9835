#include <annulus/backends/frame_mismatch.hpp>
#include <annulus/backends/kernel_launch.hpp>
#include <annulus/backends/model_backend.hpp>
#include <annulus/backends/threaded_backend.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/device/unpack_result.hpp>

#include <launch.hpp>

namespace annulus {
namespace {

constexpr const char* kName = "model";

// Frames of a launch: more than one, so that what goes from frame to frame is always exercised; not many,
// since a launch in sequence keeps all that flows between two stages.
constexpr std::size_t kModelBatch = 2;

class ModelReducer final : public BatchReducer {
 public:
  ModelReducer(std::shared_ptr<const Plan> plan, std::shared_ptr<const DevicePlan> packed)
      : plan_(std::move(plan)), packed_(std::move(packed)) {}

  std::vector<FrameResult> reduce(const std::vector<Frame>& frames) override {
    std::vector<FrameResult> results(frames.size());
    for (const Codec codec : {Codec::kByteOffset, Codec::kRaw}) reduce_codec(codec, frames, results);
    return results;
  }

 private:
  void reduce_codec(Codec codec, const std::vector<Frame>& frames, std::vector<FrameResult>& results) {
    std::vector<const Frame*> taken;
    std::vector<FrameResult*> taken_results;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (frames[i].codec != codec) continue;
      results[i].index = frames[i].index;
      results[i].fault = frame_mismatch(*plan_, frames[i]);
      if (results[i].good()) results[i].fault = packing_fault(frames[i]);
      if (!results[i].good()) continue;
      taken.push_back(&frames[i]);
      taken_results.push_back(&results[i]);
    }
    if (taken.empty()) return;
    const LaunchSums sums = launch(codec, taken.front()->type, pack_frames(taken));
    for (std::size_t i = 0; i < taken.size(); ++i) {
      UnpackedResult unpacked =
          unpack_result(*plan_, *taken[i], &sums.results[i * kernels::result_beats_of(packed_->bins)],
                        &sums.missing[i * kernels::missing_beats_of(packed_->bins)], kName);
      taken_results[i]->accumulators = std::move(unpacked.accumulators);
      taken_results[i]->fault = std::move(unpacked.fault);
    }
  }

  LaunchSums launch(Codec codec, PixelType type, const PackedFrames& frames) const {
    LaunchSums sums;
    annulus_sim::Launch launch(annulus_sim::Mode::kSequential);
    try {
      launch.run([&] { sums = call_kernel(*packed_, codec, type, frames); });
    } catch (const annulus_sim::SimulationError& error) {
      throw Error(ErrorKind::kBackend, kName, error.what(),
                  "this is a fault of the kernels: please report it");
    }
    return sums;
  }

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const DevicePlan> packed_;
};

}  // namespace

std::unique_ptr<Backend> make_model_backend(const BackendOptions& options) {
  ThreadedSettings settings;
  settings.name = kName;
  settings.threads = resolve_threads(options.threads);
  settings.batch_size = kModelBatch;
  settings.prepare = [](std::shared_ptr<const Plan> plan) -> MakeReducer {
    const auto packed = std::make_shared<const DevicePlan>(pack_plan(*plan, kName));
    return [plan, packed] { return std::make_unique<ModelReducer>(plan, packed); };
  };
  return make_threaded_backend(std::move(settings));
}

}  // namespace annulus
