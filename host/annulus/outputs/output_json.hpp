// What an output file holds, for `annulus info`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

namespace annulus {

// frames, good, bad (a list with frame, source and reason), bins, unit, range, plan_hash, program, options...
// Throws kInput.
nlohmann::json describe_output(const std::filesystem::path& path);

}  // namespace annulus
