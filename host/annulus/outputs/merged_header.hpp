// What an output that is made of several says of itself.
#pragma once

#include <annulus/outputs/merged_rows.hpp>
#include <annulus/outputs/sink.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

// Made from the first of the inputs, as if one run had made it: it is no part, and it has its own name.
RunDescription describe_merged(const MergedRows& rows, const std::filesystem::path& output);

// A stored configuration with other texts for those of these options that it has. One that is not JSON stays
// as it is.
std::string with_options(const std::string& config_json,
                         const std::vector<std::pair<std::string, std::string>>& options);

}  // namespace annulus
