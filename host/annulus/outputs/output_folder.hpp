// The folder that an output shall go to.
#pragma once

#include <filesystem>

namespace annulus {

// Throws kOutput if the folder of `file` does not exist.
void check_output_folder(const std::filesystem::path& file);

}  // namespace annulus
