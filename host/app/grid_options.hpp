// The options that say where the frames of a scan were: those of maps and tomograms.
#pragma once

#include <annulus/maps/output_grid.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "command_line.hpp"

namespace annulus::app {

// Fields of the options; grid() makes sense of them. Throws kUsage.
struct GridArguments {
  GridOptions options;
  std::vector<std::uint32_t> shape;

  GridOptions grid() const;
};

// Adds --SLOW and --FAST with their steps and tolerances, --shape and --zigzag. The arguments must live as
// long as the command. slow_help, fast_help: what the motors are.
void add_grid_options(Command& command, GridArguments& arguments, const std::string& slow,
                      const std::string& slow_help, const std::string& fast, const std::string& fast_help);

}  // namespace annulus::app
