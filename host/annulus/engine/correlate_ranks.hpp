// A correlation that the ranks of a job share: each correlates the snapshots that it is dealt, and their
// integer sums are added up.
#pragma once

#include <annulus/engine/correlate.hpp>
#include <annulus/ranks/ranks.hpp>

#include <stop_token>

namespace annulus {

// All ranks call it, with the same configuration; as run() of ranks does (run_ranks.hpp). The output is what
// one process alone writes. While the ranks work, each keeps its checkpoints as a part beside the output;
// these parts go away when the output is written.
CorrelateReport correlate(const CorrelateConfig& config, Ranks& ranks, const RunHooks& hooks,
                          std::stop_token stop);

}  // namespace annulus
