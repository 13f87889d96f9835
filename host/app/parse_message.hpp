// What was wrong with a command line, in our words.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace annulus::app {

// `command`: the one whose options were being read.
std::string parse_message(const CLI::ParseError& error, const CLI::App& command);

// For numbers of which 0 makes no sense.
CLI::Validator above_zero();

}  // namespace annulus::app
