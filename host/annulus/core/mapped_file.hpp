// A whole file mapped into memory for reading. For files that are replaced but never changed in place: one
// that is truncated while it is mapped ends the process with SIGBUS.
#pragma once

#include <annulus/core/bytes.hpp>
#include <annulus/core/error.hpp>

#include <filesystem>
#include <optional>

namespace annulus {

// None if there is no such file. Throws an error of the given kind if it cannot be mapped.
std::optional<Bytes> map_file(const std::filesystem::path& path, ErrorKind kind);

}  // namespace annulus
