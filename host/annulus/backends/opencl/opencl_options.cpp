#include <annulus/backends/opencl/opencl_options.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>

namespace annulus {

void check(const OpenClOptions& options) {
  constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 20;  // MiB
  if (options.device_memory <= kMostMemory) return;
  throw Error(ErrorKind::kUsage, "`device_memory`",
              fmt::format("{} MiB are not sensible", options.device_memory),
              fmt::format("at most {}; 0 for all of the device", kMostMemory));
}

}  // namespace annulus
