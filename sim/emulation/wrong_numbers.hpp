// What a broken card does to the sums of a run, so that the host's checks of them can be tried.
#pragma once

#include <cstdint>

#include "hls/layout.hpp"
#include "unit_worker.hpp"

namespace annulus_sim {

// The memory of a run's results, after the kernel has written it. kStale is not for here: the kernel is not
// called at all.
struct WrittenSums {
  kernels::SumBeat* results;
  kernels::SumBeat* missing;
  uint32_t frame_count;
  uint32_t bins;
};

// Headers stay as they are, so that nothing but the sums is wrong; of kSwap they move with their frames.
void falsify(RunFault fault, const WrittenSums& written);

}  // namespace annulus_sim
