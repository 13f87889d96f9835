#include <annulus/backends/fpga/check_result.hpp>
#include <annulus/backends/fpga/pack_frames.hpp>
#include <annulus/backends/fpga/xrt_launch_slot.hpp>

#include <fmt/core.h>

namespace annulus {
namespace {

std::size_t result_bytes(std::uint32_t bins) {
  return kernels::result_beats_of(bins) * sizeof(kernels::SumBeat);
}
std::size_t missing_bytes(std::uint32_t bins) {
  return kernels::missing_beats_of(bins) * sizeof(kernels::SumBeat);
}

}  // namespace

LaunchSlot::LaunchSlot(ComputeUnit& unit, const DevicePlan& plan, Codec codec, PixelType type)
    : unit_(unit),
      plan_(plan),
      bins_(plan.bins),
      descriptors_(
          unit.make_buffer(KernelMemory::kDescriptors, kFramesPerLaunch * sizeof(kernels::FrameDescriptor))),
      results_(unit.make_buffer(KernelMemory::kResults, kFramesPerLaunch * result_bytes(bins_))),
      missing_(unit.make_buffer(KernelMemory::kMissing, kFramesPerLaunch * missing_bytes(bins_))),
      run_(unit.make_run(plan, codec, type)) {
  set_memory(run_, KernelMemory::kDescriptors, descriptors_);
  set_memory(run_, KernelMemory::kResults, results_);
  set_memory(run_, KernelMemory::kMissing, missing_);
}

LaunchSums LaunchSlot::launch(std::span<const Frame* const> frames, double timeout_seconds,
                              const std::atomic<bool>& lost) {
  const auto descriptors = describe_payloads(frames);
  send(frames, descriptors);
  started_ = true;
  unit_.finish(run_, timeout_seconds, lost);
  started_ = false;
  LaunchSums sums = fetch(frames.size());
  const std::string fault = launch_fault(plan_, frames, descriptors, sums);
  if (!fault.empty()) throw CardLost(fmt::format("{} returned wrong numbers: {}", unit_.name(), fault));
  return sums;
}

void LaunchSlot::send(std::span<const Frame* const> frames,
                      std::span<const kernels::FrameDescriptor> descriptors) {
  const std::size_t bytes = payload_beats(descriptors) * sizeof(kernels::Beat);
  if (!frames_ || frames_.size() < bytes) {
    frames_ = {};  // before the new one is made: a bank may not hold both
    frames_ = unit_.make_buffer(KernelMemory::kFrames, bytes + bytes / 4);
    set_memory(run_, KernelMemory::kFrames, frames_);
  }
  copy_payloads(frames, descriptors, frames_.map<kernels::Beat*>());
  if (bytes > 0) frames_.sync(XCL_BO_SYNC_BO_TO_DEVICE, bytes, 0);
  const std::size_t descriptor_bytes = descriptors.size() * sizeof(descriptors[0]);
  descriptors_.write(descriptors.data(), descriptor_bytes, 0);
  descriptors_.sync(XCL_BO_SYNC_BO_TO_DEVICE, descriptor_bytes, 0);
  set_frame_count(run_, static_cast<std::uint32_t>(frames.size()));
}

LaunchSums LaunchSlot::fetch(std::size_t count) {
  LaunchSums sums;
  results_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, count * result_bytes(bins_), 0);
  const auto* const results = results_.map<const kernels::SumBeat*>();
  const std::size_t beats = kernels::result_beats_of(bins_);
  sums.results.assign(results, results + count * beats);
  bool invalid = false;
  for (std::size_t i = 0; i < count; ++i) {
    invalid |= sums.results[i * beats].sum[kernels::kHeaderInvalid] != 0;
  }
  if (invalid) {
    missing_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, count * missing_bytes(bins_), 0);
    const auto* const missing = missing_.map<const kernels::SumBeat*>();
    sums.missing.assign(missing, missing + count * kernels::missing_beats_of(bins_));
  }
  // A lost card stays lost until the xclbin is loaded again. So if a header can be read now, all that was
  // read before is what the kernel wrote.
  results_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, sizeof(kernels::SumBeat), 0);
  if (results->sum[kernels::kHeaderBuild] == kAllOnes) throw CardLost("its memory reads as ones");
  return sums;
}

}  // namespace annulus
