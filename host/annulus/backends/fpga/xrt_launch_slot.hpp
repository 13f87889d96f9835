// The buffers of one launch on one compute unit, used again and again while a session lasts.
#pragma once

#include <annulus/backends/fpga/kernel_batch.hpp>
#include <annulus/backends/fpga/xrt_compute_unit.hpp>

namespace annulus {

// Frames of a launch: enough that starting it costs little beside it, few enough that results come soon.
constexpr std::size_t kFramesPerLaunch = 4;

class LaunchSlot {
 public:
  LaunchSlot(ComputeUnit& unit, const DevicePlan& plan, Codec codec, PixelType type);

  // Sends at most kFramesPerLaunch frames, runs the kernel, fetches the sums and checks them. Throws
  // CardLost, also for sums that are not those of the frames.
  LaunchSums launch(std::span<const Frame* const> frames, double timeout_seconds,
                    const std::atomic<bool>& lost);

  // Whether a launch that threw still runs, or waits for its turn.
  bool busy() const { return started_ && !has_ended(run_); }

 private:
  void send(std::span<const Frame* const> frames, std::span<const kernels::FrameDescriptor> descriptors);
  LaunchSums fetch(std::size_t count);

  ComputeUnit& unit_;
  const DevicePlan& plan_;
  const std::uint32_t bins_;
  xrt::bo descriptors_;
  xrt::bo frames_;  // grows with the payloads
  xrt::bo results_;
  xrt::bo missing_;
  xrt::run run_;
  bool started_ = false;
};

}  // namespace annulus
