#include <annulus/core/error.hpp>

#include <fmt/core.h>
#include <tools/simulate/simulated_scan.hpp>

namespace annulus {

void SimulatedScan::check_frame(std::uint64_t i) const {
  if (i < frames()) return;
  throw Error(ErrorKind::kUsage, fmt::format("simulated frame {}", i),
              fmt::format("the scan has {} frames", frames()), "ask for more frames");
}

}  // namespace annulus
