// Small text files that people write: PONI files, configurations, lists.
#pragma once

#include <annulus/core/error.hpp>

#include <filesystem>
#include <string>

namespace annulus {

// The whole file. Throws an error of the given kind for what is missing, unreadable, no ordinary file (a pipe
// or a device would never end) or far too large.
std::string read_text_file(const std::filesystem::path& path, ErrorKind kind);

}  // namespace annulus
