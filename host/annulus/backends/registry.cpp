#include <annulus/backends/cpu/cpu_backend.hpp>
#include <annulus/backends/fpga/model_backend.hpp>
#include <annulus/backends/fpga/xrt_backend.hpp>
#include <annulus/backends/registry.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#ifdef ANNULUS_WITH_OPENCL
#include <annulus/backends/opencl/opencl_backend.hpp>
#endif

#include <fmt/format.h>
#include <hls/config.hpp>

namespace annulus {

std::vector<BackendDescription> describe_backends() {
  return {
      {"cpu", true, fmt::format("{} threads", resolve_threads(0))},
      {"model", true,
       fmt::format("the FPGA kernels in software, up to {} bins; to check them, not to be fast",
                   kernels::kMaxBins)},
#ifdef ANNULUS_WITH_XRT
      describe_xrt_backend(),
#else
      {"xrt", false, "Alveo cards: this build has no XRT"},
#endif
#ifdef ANNULUS_WITH_OPENCL
      describe_opencl_backend(),
#else
      {"opencl", false, "GPUs and CPUs: this build has no OpenCL"},
#endif
  };
}

std::unique_ptr<Backend> make_backend(const std::string& name, const BackendOptions& options) {
  if (name == "cpu") return make_cpu_backend(options);
  if (name == "model") return make_model_backend(options);
#ifdef ANNULUS_WITH_OPENCL
  if (name == "opencl") return make_opencl_backend(options);
#endif
#ifdef ANNULUS_WITH_XRT
  if (name == "xrt") return make_xrt_backend(options);
#endif
  std::string known;
  for (const BackendDescription& backend : describe_backends()) {
    if (backend.name == name) {
      throw Error(ErrorKind::kBackend, "`backend`",
                  fmt::format("'{}' is not available: {}", name, backend.detail));
    }
    known += (known.empty() ? "" : ", ") + backend.name;
  }
  throw Error(ErrorKind::kBackend, "`backend`", fmt::format("there is no '{}'", name),
              fmt::format("known are {}; `describe_backends()` tells what they can run on", known));
}

}  // namespace annulus
