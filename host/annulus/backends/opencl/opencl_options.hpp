// Options of the OpenCL backend, which are known also to a build without OpenCL.
#pragma once

#include <annulus/core/option_info.hpp>

#include <cstdint>
#include <string>

namespace annulus {

struct OpenClOptions {
  std::uint64_t device_memory = 0;     // MiB of a device to use; 0: all
  std::string opencl_kernel = "auto";  // how to integrate: lanes, rows, local; auto: the fastest, as measured
  bool profile = false;                // measure what stages take
};

template <OptionsOf<OpenClOptions> Options, typename Visit>
void for_each_option(Options& options, Visit&& visit) {
  visit(OptionInfo{"device_memory", "Run", "MiB that the opencl backend may use of each device (0: all)"},
        options.device_memory);
  visit(OptionInfo{"opencl_kernel", "Run",
                   "How the opencl backend integrates: lanes, rows or local (auto: as measured)"},
        options.opencl_kernel);
  visit(OptionInfo{"profile", "Run", "Print where the time of the opencl backend goes"}, options.profile);
}

// Throws kUsage for what makes no sense.
void check(const OpenClOptions& options);

}  // namespace annulus
