// Measures on the device itself how it is best used, and remembers.
#pragma once

#include <annulus/backends/opencl/session.hpp>

namespace annulus::opencl {

// Gives the session what is fastest among the ways it can take, with frames like those of its plan; or what
// an earlier run measured for the same device, kernels and kind of plan. Throws kBackend if there is no way.
void tune(Session& session);

}  // namespace annulus::opencl
