// annulus_emulated_card: the device process of XRT's software emulation, which XRT starts when a host program
// loads an xclbin. --check only reads the settings and opens the log.
#include <fmt/format.h>
#include <malloc.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "card.hpp"

namespace {

using namespace annulus_sim;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void serve() {
  const Journal journal(variable("ANNULUS_EMULATION_LOG"));
  DriverLink driver;
  Card card(driver, read_settings(variable("ANNULUS_EMULATION_SETTINGS")), journal);
  card.serve();
}

}  // namespace

int main(int argc, char** argv) {
  const bool only_check = argc == 2 && std::strcmp(argv[1], "--check") == 0;
  mallopt(M_MMAP_THRESHOLD, 256 << 20);  // keeps the pages of one 8 MiB message for the next
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  // An interrupt reaches the whole process group. It is the host program that decides what becomes of it;
  // when that ends, so does the card.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    std::signal(number, only_check ? SIG_DFL : SIG_IGN);
  try {
    if (only_check) {
      read_settings(variable("ANNULUS_EMULATION_SETTINGS"));
      Journal(variable("ANNULUS_EMULATION_LOG"));
    } else {
      serve();
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "emulated card: {}\n", error.what());
  }
  if (only_check) return 2;
  std::raise(SIGKILL);  // to a process that only exits, XRT would wait forever
  return 1;
}
