// Turns the library's table of options into those of a command.
#pragma once

#include <annulus/engine/config.hpp>

#include <functional>
#include <string>

#include "command_line.hpp"

namespace annulus::app {

// Adds those options of the table for which `wanted` is true.
void bind_options(Command& command, IntegrateConfig& config,
                  const std::function<bool(const OptionInfo&)>& wanted);

bool any_option(const OptionInfo& info);

// Says which files to read and how: for commands that do not integrate.
bool is_of_inputs(const OptionInfo& info);

// Makes the plan: for commands that run frames but write no patterns.
bool is_of_plan(const OptionInfo& info);

// An option --config for the name of a JSON file.
void bind_config_file(Command& command, std::string& file);

// The command line wins over the file: the file sets the defaults, then the options that were given are
// applied once more.
void apply_config_file(const Command& command, const std::string& file, IntegrateConfig& config);

}  // namespace annulus::app
