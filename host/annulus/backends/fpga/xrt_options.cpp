#include <annulus/backends/fpga/fpga_backends.hpp>
#include <annulus/core/error.hpp>

#include <fmt/core.h>

namespace annulus {

void check(const XrtOptions& options) {
  constexpr double kDay = 86400;  // seconds
  if (options.device_timeout > 0 && options.device_timeout <= kDay) return;
  throw Error(ErrorKind::kUsage, "`device_timeout`",
              fmt::format("{} s is not sensible", options.device_timeout),
              "give a number of seconds above 0, a day at most");
}

}  // namespace annulus
