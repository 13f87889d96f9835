// The CPU backend: a thread a core, each reducing whole batches.
#pragma once

#include <annulus/backends/common/backend.hpp>

namespace annulus {

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions& options);

}  // namespace annulus
