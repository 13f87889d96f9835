// What a launch left in memory for one frame, as the sums that all backends agree on.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/plan/accumulators.hpp>

#include <hls/layout.hpp>

#include <string>

namespace annulus {

struct UnpackedResult {
  Accumulators accumulators;
  std::string fault;  // empty: the frame is good
};

// `results` and `missing` are where those of this frame begin. Throws kBackend, naming `backend`, if the
// kernel that wrote them is of another build.
UnpackedResult unpack_result(const Plan& plan, const Frame& frame, const kernels::SumBeat* results,
                             const kernels::SumBeat* missing, const std::string& backend);

}  // namespace annulus
