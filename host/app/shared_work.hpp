// Commands whose work the ranks of a job share, when the program was started under MPI.
#pragma once

#include <annulus/ranks/ranks.hpp>

#include <functional>
#include <string>

namespace annulus::app {

// All ranks do `work`; the first one then calls `tell`, which returns the exit code. One process alone is the
// first. What fails in all of them together is said once.
int share_work(const std::function<void(Ranks& ranks)>& work, const std::function<int()>& tell);

// For the other commands: throws kUsage if several ranks were started, each of which would do the whole.
void refuse_ranks(const std::string& command);

}  // namespace annulus::app
