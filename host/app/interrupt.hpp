// Ctrl-C, SIGTERM and a lost terminal (SIGHUP) end a scan in order: what is reduced is written, then the
// program leaves.
#pragma once

#include <stop_token>

namespace annulus::app {

// Installs the handlers. The first signal requests a stop, a second one ends the program at once.
std::stop_token catch_interrupts();

}  // namespace annulus::app
