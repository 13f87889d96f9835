// Options that take several values in one argument, "1,2,4": the words after it may be inputs.
#pragma once

#include <annulus/core/instruction_set.hpp>
#include <annulus/plan/recipe.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "command_line.hpp"

namespace annulus::app {

Option add_comma_list(Command& command, const std::string& key, std::vector<std::uint32_t>& list,
                      const std::string& help);
Option add_comma_list(Command& command, const std::string& key, std::vector<std::string>& list,
                      const std::string& help);
Option add_comma_list(Command& command, const std::string& key, std::vector<InstructionSet>& list,
                      const std::string& help);
Option add_comma_list(Command& command, const std::string& key, std::vector<ErrorModel>& list,
                      const std::string& help);

}  // namespace annulus::app
