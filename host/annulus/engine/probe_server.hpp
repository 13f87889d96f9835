// The process that opens HDF5 files before the program does (hdf5/probe.hpp).
//
// A program that reads files from elsewhere calls set_probe_command() with a command of its own that does
// nothing but serve_hdf5_probes(). docs/library.md shows it.
#pragma once

#include <string>
#include <vector>

namespace annulus {

// The command, the name of the program first. Called before the first file is opened.
void set_probe_command(std::vector<std::string> command);

// Opens files as the library would, each in a process of its own, until standard input is closed.
int serve_hdf5_probes();

}  // namespace annulus
