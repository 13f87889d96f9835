// Plans made to order, frames, and launches of whole kernels.
#pragma once

#include <annulus/backends/fpga/check_result.hpp>
#include <annulus/backends/fpga/pack_frames.hpp>
#include <annulus/backends/fpga/unpack_result.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/plan/plan.hpp>

#include <launch.hpp>

#include <cstdint>
#include <random>
#include <vector>

namespace annulus::testing {

// All that the kernels of this build can do.
inline const Recipe kRecipe{kernels::kVariance ? ErrorModel::kPoisson : ErrorModel::kNone};

struct PlanShape {
  Shape shape{7, 23};
  std::uint32_t bins = 100;
  std::uint32_t widest = 3;   // bins of a pixel, from 1 on
  double unused_share = 0.1;  // of pixels without entries
  PixelType type = PixelType::kI32;
};

// Random bins and weights: neighbouring bins mostly, with holes in wide footprints.
Plan random_plan(const PlanShape& shape, std::mt19937_64& random);

// A plan in which pixel j has all its weight in bin bins[j].
Plan single_bin_plan(Shape shape, std::uint32_t bins, const std::vector<std::uint32_t>& bin_of_pixel);

// One launch; all frames of one codec. What lies in memory before and after it.
struct RawLaunch {
  DevicePlan plan;
  PackedFrames packed;
  LaunchSums sums;
};
RawLaunch launch_raw(const Plan& plan, const std::vector<Frame>& frames, annulus_sim::Launch& launch);

// What launch_fault() says of it.
std::string fault_of(const RawLaunch& launched, const std::vector<Frame>& frames);

// The results. Fails the test if launch_fault() finds something.
std::vector<FrameResult> launch_frames(const Plan& plan, const std::vector<Frame>& frames,
                                       annulus_sim::Launch& launch);
std::vector<FrameResult> launch_frames(const Plan& plan, const std::vector<Frame>& frames);

}  // namespace annulus::testing
