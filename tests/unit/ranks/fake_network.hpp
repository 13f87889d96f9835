// Ranks as threads of one process: a network of queues in place of MPI.
#pragma once

#include <annulus/ranks/ranks.hpp>

#include <functional>

namespace annulus {

// Runs `work` as so many ranks, each on a thread of its own, until all have returned. They leave together.
void run_as_ranks(unsigned size, const std::function<void(Ranks&)>& work);

}  // namespace annulus
