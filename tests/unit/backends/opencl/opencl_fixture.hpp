// Reduces frames on an OpenCL device, with kernels that look at each index they use, and holds the sums to
// the CPU's.
#pragma once

#include <annulus/backends/opencl/opencl_backend.hpp>
#include <annulus/backends/opencl/tuning.hpp>
#include <annulus/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan_fixtures.hpp"
#include "results.hpp"
#include "test_frames.hpp"

namespace annulus::testing {

using opencl::Choice;
using opencl::Method;

// One of each kind, with bands and segments so small that frames have many of them.
inline std::vector<Choice> some_choices() {
  return {{Method::kLanes, 3, 1, 1 << 20, 64, 8, 1},
          {Method::kLanes, 5, 1, 160, 16, 8, 4},
          {Method::kRows, 1, 5, 1 << 20, 48, 8, 3},
          {Method::kLocal, 3, 7, 400, 1024, 8, 1}};
}

inline opencl::SessionSettings checked(const Choice& choice) {
  opencl::SessionSettings settings;
  settings.choice = choice;
  settings.check_bounds = true;
  return settings;
}

inline std::vector<FrameResult> reduce_by_opencl(const Job& job, const std::vector<Frame>& frames,
                                                 const opencl::SessionSettings& settings,
                                                 const CommonOptions& options = {}) {
  return reduce_by(*make_opencl_backend(options, settings), job, frames);
}

inline void expect_as_cpu(const Job& job, const std::vector<Frame>& frames,
                          const opencl::SessionSettings& settings, const CommonOptions& options = {}) {
  SCOPED_TRACE(settings.choice ? to_text(*settings.choice) : "tuned");
  expect_same_results(reduce_by_opencl(job, frames, settings, options), reduce_by_cpu(job, frames));
}

inline Job simple_job(Shape shape, std::uint32_t bins = 40, ErrorModel model = ErrorModel::kNone) {
  IntegrationOptions options;
  options.bins = bins;
  return {std::make_shared<const Plan>(build_plan(small_geometry(shape), options, {}, {"test", shape})),
          {model}};
}

}  // namespace annulus::testing
