// Small files that appear whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace annulus {

// Writes beside `path` and renames, so that nobody sees half of it and a failure leaves what was there.
// Throws kOutput with the system's reason.
void write_whole_file(const std::filesystem::path& path, std::string_view content);

}  // namespace annulus
