// Ctrl-C and SIGTERM end a scan in order: what is reduced is written, then the program leaves.
#pragma once

#include <atomic>

namespace annulus::app {

// Installs the handlers; the flag is set by the first signal, a second one ends the program at once.
const std::atomic<bool>& catch_interrupts();

}  // namespace annulus::app
