// What backends made of the same frames, held against each other.
#pragma once

#include <annulus/backends/registry.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace annulus::testing {

inline std::vector<FrameResult> reduce_by(Backend& backend, Job job, const std::vector<Frame>& frames) {
  backend.load(std::move(job));
  backend.submit(frames);
  backend.finish();
  return backend.collect();
}

// By one thread of the cpu backend with the generic code.
inline std::vector<FrameResult> reduce_by_cpu(const Job& job, const std::vector<Frame>& frames) {
  BackendOptions options;
  options.threads = 1;
  options.cpu.instruction_set = "generic";
  return reduce_by(*make_backend("cpu", options), job, frames);
}

inline void expect_same_results(const std::vector<FrameResult>& results,
                                const std::vector<FrameResult>& expected) {
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].id.index, expected[i].id.index);
    ASSERT_EQ(results[i].fault(), expected[i].fault()) << "frame " << i;
    if (!results[i].good()) continue;
    ASSERT_EQ(results[i].sums(), expected[i].sums()) << "frame " << i;
  }
}

}  // namespace annulus::testing
