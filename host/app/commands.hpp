// The subcommands: each adds itself to the program.
#pragma once

#include "command_line.hpp"

namespace annulus::app {

void add_integrate(CommandLine& program);
void add_renormalise(CommandLine& program);
void add_merge(CommandLine& program);
void add_separate(CommandLine& program);
void add_map(CommandLine& program);
void add_tomo(CommandLine& program);
void add_correlate(CommandLine& program);
void add_simulate(CommandLine& program);
void add_plot(CommandLine& program);
void add_info(CommandLine& program);
void add_verify(CommandLine& program);
void add_devices(CommandLine& program);
void add_model_report(CommandLine& program);
void add_bench(CommandLine& program);

}  // namespace annulus::app
