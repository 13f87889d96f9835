// A run that the ranks of a job share: each reduces the frames that it is dealt into a part of its own, and
// the first writes the master of all parts.
#pragma once

#include <annulus/engine/run.hpp>
#include <annulus/ranks/ranks.hpp>

#include <stop_token>

namespace annulus {

// All ranks call it, with the same configuration. One rank alone does what run() does, unless it goes on with
// parts that more ranks have left.
//
// The first rank has the report of all together, and its hooks are told of all. In the others the report is
// their own, and of the hooks nothing is called. A stop in any rank, and a bad frame without `keep_going`,
// ends all; what came before is in the master. Throws FailedTogether in all ranks.
RunReport run(const IntegrateConfig& config, Ranks& ranks, const RunHooks& hooks, std::stop_token stop);

}  // namespace annulus
