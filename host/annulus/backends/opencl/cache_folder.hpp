// Small files that spare the next run some work: compiled programs and what was measured. Nothing depends on
// them: one that is missing or damaged, or that others than this user and root can have written
// (private_folder.hpp in core), is made again, and one that cannot be written is left out.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace annulus::opencl {

// XDG_CACHE_HOME/annulus/opencl, or ~/.cache/annulus/opencl. The name is a hash of `key`.
std::optional<std::vector<std::byte>> read_cached(const std::string& kind, const std::string& key);
void write_cached(const std::string& kind, const std::string& key, std::span<const std::byte> content);

}  // namespace annulus::opencl
