// A bad frame has no numbers, a good one has all of them: anything else would be a wrong number in silence.
#pragma once

#include <annulus/outputs/sink.hpp>

namespace annulus {

// Throws kOutput if the frame is not one of the job.
void check_frame(const Job& job, const ReducedFrame& frame);

}  // namespace annulus
