// The name of a plan that is not made yet: two inputs of build_plan with one key give one plan.
#pragma once

#include <annulus/plan/plan.hpp>

#include <string>

namespace annulus {

// To be raised whenever build_plan gives another plan for the same input: the plans that were kept are then
// of no use. The test PlanKey.KnownPlansHaveNotChanged notices.
constexpr int kPlanRules = 7;

// SHA-256 in hexadecimal over all that shapes the plan: geometry, options, the maps' content, the frames'
// properties, the version of the program and of its rules, and how this machine computes angles.
std::string plan_key(const Geometry& geometry, const IntegrationOptions& options, const PixelMaps& maps,
                     const FrameProperties& frames);

}  // namespace annulus
