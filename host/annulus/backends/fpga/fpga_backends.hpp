// The FPGA kernels as backends: on Alveo cards or an emulated one through XRT (docs/deployment.md,
// docs/emulation.md), and compiled for the CPU (the model).
#pragma once

#include <annulus/backends/common/backend.hpp>
#include <annulus/core/option_info.hpp>

#include <memory>
#include <string>

namespace annulus {

struct XrtOptions {
  std::string xclbin = {};       // the kernels for the card; empty: what ANNULUS_XCLBIN names
  bool retry_device = false;     // reopen a lost card, once, and go on with the frames it had
  double device_timeout = 60.0;  // seconds after which a launch that does not end means that the card is lost
};

template <OptionsOf<XrtOptions> Options, typename Visit>
void for_each_option(Options& options, Visit&& visit) {
  visit(OptionInfo{"xclbin", "Run", "Kernels for the card (default: ANNULUS_XCLBIN)"}, options.xclbin);
  visit(OptionInfo{"retry_device", "Run", "Reopen a lost card, once, and go on"}, options.retry_device);
  visit(
      OptionInfo{"device_timeout", "Run", "Seconds after which a launch that does not end means a lost card"},
      options.device_timeout);
}

// Throws kUsage for what makes no sense.
void check(const XrtOptions& options);

// Only in a build with XRT.
std::unique_ptr<Backend> make_xrt_backend(const CommonOptions& common, const XrtOptions& options);
BackendDescription describe_xrt_backend();

std::unique_ptr<Backend> make_model_backend(const CommonOptions& common);
BackendDescription describe_model_backend();

}  // namespace annulus
