// Makes a frame fit for backends: its type is checked, floating point and 64-bit pixels become int32.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/plan/plan.hpp>

namespace annulus {

// Throws kInput, naming the frame, if it does not belong to the plan.
Frame prepare_frame(const Plan& plan, Frame frame);

}  // namespace annulus
