// One launch of a kernel in software.
#pragma once

#include <annulus/backends/fpga/kernel_batch.hpp>
#include <annulus/backends/fpga/pack_frames.hpp>
#include <annulus/backends/fpga/pack_plan.hpp>

namespace annulus {

// Calls the kernel for `codec`; inside an annulus_sim::Launch, with its mode and counters.
LaunchSums call_kernel(const DevicePlan& plan, Codec codec, PixelType type, const PackedFrames& frames);

}  // namespace annulus
