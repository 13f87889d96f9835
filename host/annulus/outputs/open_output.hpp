// Opening outputs to read them: parts of a master only where they may lie.
#pragma once

#include <annulus/hdf5/handle.hpp>

#include <filesystem>

namespace annulus {

// Empty if the file cannot be opened: hdf5_reason() says why. A master's parts are read only below its
// folder. Within an Hdf5Session; the file was probed.
Hdf5Handle open_output_file(const std::filesystem::path& path);

// The same, but throws kInput.
Hdf5Handle open_output(const std::filesystem::path& path);

}  // namespace annulus
