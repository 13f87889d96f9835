// When things would happen in hardware: a recorded launch, played again against a clock.
//
// All stages run at once. An iteration takes one clock (an initiation interval of 1); its reads wait for what
// they read, which arrives a clock after it was written, and its writes wait for space, which is there a
// clock after the element `depth` places ahead was read. What happens between loops takes no time. Memories
// always answer, and the depth of pipelines is not known here, so real clocks are more, by what those cost a
// frame.
//
// The order of steps does not depend on time, since stages communicate through blocking streams only. So the
// clock is the same on every machine, which cannot be said of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "launch.hpp"

namespace annulus_sim {

struct Replay {
  std::uint64_t clocks = 0;             // until the last stage ends
  std::vector<std::size_t> high_water;  // most elements that each stream held at once
};

// `report` is of a launch that recorded its steps. Throws SimulationError if the stages wait for each other
// for ever.
Replay replay(const LaunchReport& report);

}  // namespace annulus_sim
