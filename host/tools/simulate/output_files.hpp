// Where the files of a simulated scan go.
#pragma once

#include <filesystem>
#include <string>

namespace annulus {

// Throws kUsage if no file's name can begin with it.
void check_prefix(const std::string& prefix);

// With those above it, if needed. Throws kOutput.
void make_folder(const std::filesystem::path& folder);

// Throws kOutput if the file is there.
void refuse_existing(const std::filesystem::path& path);

}  // namespace annulus
