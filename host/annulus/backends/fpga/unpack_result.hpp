// What a launch left in memory for one frame, as the sums that all backends agree on.
#pragma once

#include <annulus/backends/common/backend.hpp>

#include <hls/layout.hpp>

namespace annulus {

// `results` and `missing` are where those of this frame begin, after launch_fault() found nothing.
FrameResult unpack_result(const Plan& plan, const Recipe& recipe, const Frame& frame,
                          const kernels::SumBeat* results, const kernels::SumBeat* missing);

}  // namespace annulus
