#include <annulus/backends/fpga/kernel_batch.hpp>
#include <annulus/backends/fpga/pack_frames.hpp>
#include <annulus/backends/fpga/unpack_result.hpp>
#include <annulus/codecs/block_pixels.hpp>
#include <annulus/core/error.hpp>

namespace annulus {
namespace {

// A frame of a batch on its way to a kernel.
struct Launched {
  std::size_t place;  // in the batch
  const Frame* frame;
};

// The frames of a batch that can be launched, each as a kernel takes it; the others get their fault.
class LaunchableFrames {
 public:
  LaunchableFrames(const std::vector<Frame>& frames, bool has_bslz4, std::vector<FrameResult>& results)
      : decoded_(frames.size()) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      results[i].id = frames[i].id;
      std::string fault = packing_fault(frames[i]);
      if (fault.empty()) fault = add(i, frames[i], has_bslz4);
      if (!fault.empty()) results[i].outcome = damaged_frame(frames[i], std::move(fault));
    }
  }

  std::vector<Launched> of(Codec codec) const {
    std::vector<Launched> chosen;
    for (const Launched& item : items_) {
      if (item.frame->codec == codec) chosen.push_back(item);
    }
    return chosen;
  }

 private:
  // What is wrong with the frame; empty if nothing is.
  std::string add(std::size_t place, const Frame& frame, bool has_bslz4) {
    const bool decodes_here = has_blocks(frame.codec) && !(has_bslz4 && has_kernel_blocks(frame));
    try {
      if (decodes_here) decoded_[place] = decode_blocks(frame);
      items_.push_back({place, decodes_here ? &decoded_[place] : &frame});
    } catch (const Error& error) {
      return error.fault();
    }
    return {};
  }

  std::vector<Frame> decoded_;
  std::vector<Launched> items_;
};

}  // namespace

std::vector<FrameResult> reduce_by_launches(const Job& job, const std::vector<Frame>& frames, bool has_bslz4,
                                            const LaunchFrames& launch) {
  const Plan& plan = *job.plan;
  std::vector<FrameResult> results(frames.size());
  const LaunchableFrames launchable(frames, has_bslz4, results);
  for (const Codec codec : kKernelCodecs) {
    const std::vector<Launched> taken = launchable.of(codec);
    if (taken.empty()) continue;
    std::vector<const Frame*> launched;
    for (const Launched& item : taken) launched.push_back(item.frame);
    const LaunchSums sums = launch(codec, launched);
    for (std::size_t k = 0; k < taken.size(); ++k) {
      results[taken[k].place] = unpack_result(
          plan, job.recipe, *launched[k], sums.results.data() + k * kernels::result_beats_of(plan.bins()),
          sums.missing.data() + k * kernels::missing_beats_of(plan.bins()));
    }
  }
  return results;
}

}  // namespace annulus
