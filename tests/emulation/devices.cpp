// Loads the xclbin that ANNULUS_XCLBIN names, and prints what the library then says of the cards.
#include <annulus/backends/registry.hpp>

#include <fmt/format.h>
#include <xrt/xrt_device.h>

#include <cstdio>
#include <cstdlib>

int main() {
  xrt::device device(0);
  const xrt::uuid uuid = device.load_xclbin(std::string(std::getenv("ANNULUS_XCLBIN")));
  fmt::print("{}\n", uuid.to_string());
  for (const annulus::BackendDescription& backend : annulus::describe_backends()) {
    if (backend.name == "xrt") fmt::print("{}\n", backend.detail);
  }
  std::fflush(stdout);
  std::_Exit(0);  // XRT's emulation does not survive closing a card that was opened twice
}
