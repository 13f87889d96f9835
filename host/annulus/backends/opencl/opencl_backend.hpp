// The OpenCL backend: GPUs, and CPUs with an OpenCL driver (docs/opencl.md).
#pragma once

#include <annulus/backends/common/backend.hpp>
#include <annulus/backends/opencl/opencl_options.hpp>
#include <annulus/backends/opencl/session.hpp>

namespace annulus {

std::unique_ptr<Backend> make_opencl_backend(const CommonOptions& common, const OpenClOptions& options = {});

// With settings that no option has.
std::unique_ptr<Backend> make_opencl_backend(const CommonOptions& common,
                                             const opencl::SessionSettings& settings);

BackendDescription describe_opencl_backend();

}  // namespace annulus
