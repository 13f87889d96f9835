// The one place where a frame is held against a plan, and made fit for a reducer: its shape, type and
// saturation are checked, and floating point and 64-bit pixels become int32.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/plan/recipe.hpp>

namespace annulus {

// Throws kInput, naming the frame, if it does not belong to the plan.
Frame prepare_frame(const Job& job, Frame frame);

}  // namespace annulus
