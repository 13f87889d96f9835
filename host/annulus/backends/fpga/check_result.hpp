// Whether what lies in memory after a launch is what the kernel wrote for its frames, all of it and nothing
// older, and whether it can be their sums. A run that ends without having written, a transfer that fails in
// silence or a bit that flips must never become a pattern.
#pragma once

#include <annulus/backends/fpga/kernel_batch.hpp>
#include <annulus/backends/fpga/pack_plan.hpp>

#include <span>
#include <string>

namespace annulus {

// What is wrong, naming the frame; empty if nothing is. Sums of damaged frames mean nothing and are not held
// against their bounds.
std::string launch_fault(const DevicePlan& plan, std::span<const Frame* const> frames,
                         std::span<const kernels::FrameDescriptor> descriptors, const LaunchSums& sums);

// The same of the result of one frame, without a look at its sums: header and rows_of(bins) rows that a
// kernel of this build wrote for the frame of this number.
std::string result_fault(const kernels::SumBeat* results, std::uint32_t bins, std::uint32_t number);

}  // namespace annulus
