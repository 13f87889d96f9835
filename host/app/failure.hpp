// What the program says when it fails, and the exit code that goes with it.
#pragma once

#include <exception>

namespace annulus::app {

// Prints the message.
int report_failure(const std::exception& error);

}  // namespace annulus::app
