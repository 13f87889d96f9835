// Whether a frame is one that a plan was built for.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/plan/plan.hpp>

#include <string>

namespace annulus {

// An empty string if the frame has the plan's shape and type; else what is wrong with it.
std::string frame_mismatch(const Plan& plan, const Frame& frame);

}  // namespace annulus
