// The backends that a program knows, by name: those of this build, and those that are registered from outside
// the library.
#pragma once

#include <annulus/backends/common/backend.hpp>
#include <annulus/backends/cpu/cpu_backend.hpp>
#include <annulus/backends/fpga/fpga_backends.hpp>
#include <annulus/backends/opencl/opencl_options.hpp>
#include <annulus/core/option_info.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace annulus {

// The options of all backends of the library. Each backend reads those that are common, and its own.
struct BackendOptions : CommonOptions {
  CpuOptions cpu = {};
  OpenClOptions opencl = {};
  XrtOptions xrt = {};
};

template <OptionsOf<BackendOptions> Options, typename Visit>
void for_each_option(Options& options, Visit&& visit) {
  visit(OptionInfo{"threads", "Run", "Threads of the backend (0: one per core)"}, options.threads);
  visit(OptionInfo{"device", "Run",
                   "Of xrt: index or PCIe address of the card; of opencl: indices or names, see "
                   "docs/opencl.md (default: "
                   "the first; the ranks of a node take different ones)"},
        options.device);
  for_each_option(options.cpu, visit);
  for_each_option(options.opencl, visit);
  for_each_option(options.xrt, visit);
}

// Throws kUsage for an option that was set and belongs to another backend than `name`, and for values that
// make no sense.
void check_options(const std::string& name, const BackendOptions& options);

// Known names with a line on what each is and whether it can run here.
std::vector<BackendDescription> describe_backends();

// A line for each device that this backend could use here; empty if it has no choice of devices.
std::vector<std::string> devices_of(const std::string& name);

// Throws kBackend with the names there are, and what check_options throws.
std::unique_ptr<Backend> make_backend(const std::string& name, const BackendOptions& options = {});

struct BackendEntry {
  std::string name;
  std::function<BackendDescription()> describe;
  std::function<std::unique_ptr<Backend>(const BackendOptions&)> make;  // none: this build is without it
  bool has_devices = false;                                             // reads CommonOptions::device
};

// Adds a backend that is not part of the library, for all that ask for one by name. Throws kUsage if the name
// is taken. Any thread may call it; what was registered stays.
void register_backend(BackendEntry entry);

}  // namespace annulus
