// The CPU backend: one thread per core, each reducing whole batches.
#pragma once

#include <annulus/backends/common/backend.hpp>
#include <annulus/core/option_info.hpp>

#include <memory>
#include <string>

namespace annulus {

struct CpuOptions {
  std::string instruction_set = "best";  // "best": the fastest that the machine has
  unsigned batch = 0;                    // frames reduced side by side; 0: what suits the machine
  bool latency = false;  // all threads share one frame: the first pattern comes sooner, a scan takes longer
};

template <OptionsOf<CpuOptions> Options, typename Visit>
void for_each_option(Options& options, Visit&& visit) {
  visit(OptionInfo{"latency", "Run", "All threads share one frame: for live use, not for scans"},
        options.latency);
  visit(OptionInfo{"batch", "Run", "Frames that a thread reduces side by side (0: what suits)"},
        options.batch);
  visit(OptionInfo{"instruction_set", "Run",
                   "Vector instructions of the cpu backend: best, generic, avx2, avx512 or neon"},
        options.instruction_set);
}

// Throws kUsage for what makes no sense here.
void check(const CpuOptions& options);

std::unique_ptr<Backend> make_cpu_backend(const CommonOptions& common, const CpuOptions& options = {});

BackendDescription describe_cpu_backend();

}  // namespace annulus
