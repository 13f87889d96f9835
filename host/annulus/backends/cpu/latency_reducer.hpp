// Reduces one frame at a time with several threads: one decodes, and all add up what is decoded. For live
// use, where the time until a pattern is there counts more than the number of patterns.
#pragma once

#include <annulus/backends/cpu/cpu_reducer.hpp>

namespace annulus {

std::unique_ptr<BatchReducer> make_latency_reducer(std::shared_ptr<const CpuPlan> plan, InstructionSet set,
                                                   unsigned threads);

}  // namespace annulus
