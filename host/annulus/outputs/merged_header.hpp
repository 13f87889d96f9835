// What an output that is made of several says of itself.
#pragma once

#include <annulus/outputs/merged_rows.hpp>
#include <annulus/outputs/sink.hpp>

#include <filesystem>

namespace annulus {

// Made from the first of the inputs, as if one run had made it: it is no part, and it has its own name.
RunDescription describe_merged(const MergedRows& rows, const std::filesystem::path& output);

}  // namespace annulus
