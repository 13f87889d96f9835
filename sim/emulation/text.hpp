// Small helpers for text files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace annulus_sim {

std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, std::string_view text);

std::string trim(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace annulus_sim
