#include <annulus/backends/frame_mismatch.hpp>
#include <annulus/backends/kernel_batch.hpp>
#include <annulus/device/pack_frames.hpp>
#include <annulus/device/unpack_result.hpp>

namespace annulus {
namespace {

// The frames of one codec that can be launched, by their place in the batch; the others get their fault.
std::vector<std::size_t> take_frames(const Plan& plan, Codec codec, const std::vector<Frame>& frames,
                                     std::vector<FrameResult>& results) {
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].codec != codec) continue;
    results[i].index = frames[i].index;
    results[i].fault = frame_mismatch(plan, frames[i]);
    if (results[i].good()) results[i].fault = packing_fault(frames[i]);
    if (results[i].good()) taken.push_back(i);
  }
  return taken;
}

}  // namespace

std::vector<FrameResult> reduce_by_launches(const Plan& plan, const std::vector<Frame>& frames,
                                            const std::string& backend, const LaunchFrames& launch) {
  std::vector<FrameResult> results(frames.size());
  for (const Codec codec : {Codec::kByteOffset, Codec::kRaw}) {
    const std::vector<std::size_t> taken = take_frames(plan, codec, frames, results);
    if (taken.empty()) continue;
    std::vector<const Frame*> launched;
    for (const std::size_t i : taken) launched.push_back(&frames[i]);
    const LaunchSums sums = launch(codec, launched);
    for (std::size_t k = 0; k < taken.size(); ++k) {
      UnpackedResult unpacked =
          unpack_result(plan, *launched[k], sums.results.data() + k * kernels::result_beats_of(plan.bins()),
                        sums.missing.data() + k * kernels::missing_beats_of(plan.bins()), backend);
      results[taken[k]].accumulators = std::move(unpacked.accumulators);
      results[taken[k]].fault = std::move(unpacked.fault);
    }
  }
  return results;
}

}  // namespace annulus
