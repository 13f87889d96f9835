// The XRT backend: Alveo cards, or an emulated one (docs/deployment.md, docs/emulation.md).
#pragma once

#include <annulus/backends/common/backend.hpp>

namespace annulus {

std::unique_ptr<Backend> make_xrt_backend(const BackendOptions& options);

BackendDescription describe_xrt_backend();

}  // namespace annulus
