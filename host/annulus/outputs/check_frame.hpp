// A bad frame has no numbers, a good one has all of them: anything else would be a wrong number in silence.
#pragma once

#include <annulus/outputs/sink.hpp>

namespace annulus {

// Throws kOutput if the frame is not one of the plan.
void check_frame(const Plan& plan, const ReducedFrame& frame);

}  // namespace annulus
