// What users should know of an output that a command reads.
#pragma once

#include <filesystem>

namespace annulus::app {

// The run that writes it was ended, or goes on: what is read may not be all.
void warn_unclosed(const std::filesystem::path& input);

}  // namespace annulus::app
