// Whole files, as text or as bytes.
#pragma once

#include <annulus/core/bytes.hpp>
#include <annulus/core/error.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace annulus {

// For small files that people write: PONI files, configurations, lists. Throws an error of the given kind for
// what is missing, unreadable, no ordinary file (a pipe or a device would never end) or far too large.
std::string read_text_file(const std::filesystem::path& path, ErrorKind kind);

// Mapped into memory, or read where mapping is forbidden (guarded_mapping.hpp). For files that are replaced
// but never changed in place: one that is truncated while it is mapped ends the process with SIGBUS, as
// nobody asks whether such bytes are intact. None if there is no such file. Throws an error of the given kind
// if it cannot be read, or if only trusted ones are asked for and others can have written it
// (private_folder.hpp).
enum class MapFrom { kAnybody, kTrusted };
std::optional<Bytes> map_file(const std::filesystem::path& path, ErrorKind kind,
                              MapFrom from = MapFrom::kAnybody);

}  // namespace annulus
