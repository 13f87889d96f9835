#include <annulus/core/parallel.hpp>

#include <tools/bench/machine.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace annulus {
namespace {

// "model name : AMD EPYC 7763" of the first core. Processors other than x86 have no such line.
std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(':');
    const std::size_t start = line.find_first_not_of(' ', colon + 1);
    if (colon != std::string::npos && start != std::string::npos) return line.substr(start);
  }
  return {};
}

std::uint64_t cache_size(int name) { return static_cast<std::uint64_t>(std::max(0L, sysconf(name))); }

}  // namespace

Machine describe_machine() {
  Machine machine;
  machine.processor = processor_name();
  machine.cores = resolve_threads(0);
  machine.instruction_sets = available_instruction_sets();
  machine.cache_level1 = cache_size(_SC_LEVEL1_DCACHE_SIZE);
  machine.cache_level2 = cache_size(_SC_LEVEL2_CACHE_SIZE);
  machine.cache_level3 = cache_size(_SC_LEVEL3_CACHE_SIZE);
  double load = 0;
  if (getloadavg(&load, 1) == 1) machine.load = load;
  return machine;
}

}  // namespace annulus
