// The subcommands. Each adds itself to the program and returns what to run when it was chosen.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace annulus::app {

// Returns an exit code; throws annulus::Error.
using Command = std::function<int()>;

Command add_integrate(CLI::App& program);
Command add_simulate(CLI::App& program);
Command add_plot(CLI::App& program);
Command add_info(CLI::App& program);
Command add_verify(CLI::App& program);
Command add_devices(CLI::App& program);
Command add_model_report(CLI::App& program);
Command add_bench(CLI::App& program);

}  // namespace annulus::app
