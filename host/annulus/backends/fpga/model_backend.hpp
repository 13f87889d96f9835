// The model backend: the kernels themselves, compiled for the CPU.
#pragma once

#include <annulus/backends/common/backend.hpp>

namespace annulus {

std::unique_ptr<Backend> make_model_backend(const BackendOptions& options);

}  // namespace annulus
