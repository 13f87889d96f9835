// A part of a file mapped for reading, which others may truncate or rewrite meanwhile.
//
// Reading a page that is no longer there raises SIGBUS, which would end the process. Here it is answered: the
// rest of the mapping becomes zeros, and the bytes are no longer intact(). Whoever used them must ask
// afterwards, because a file cut within its last page, or rewritten, raises nothing.
//
// This is the only signal handler of the library. The first call installs it, once per process. A bus error
// elsewhere, and one that a process sends, go to the handler that was there before, or end the process as
// they would without. A handler that the program installs later must pass on what is not its own in the same
// way, or the guard is gone. Who wants no handler forbids mapping.
#pragma once

#include <annulus/core/bytes.hpp>

#include <cstdint>
#include <optional>

namespace annulus {

// Whether files may be mapped, in the whole process; they may unless this forbids it. Where it is forbidden
// they are read, which takes longer, and no signal handler is installed. For files that are opened from now
// on.
void allow_mapping(bool allowed);
bool mapping_is_allowed();

// None if the file cannot be mapped or may not be, or too many mappings are alive: read it instead. The
// descriptor may be closed afterwards.
std::optional<Bytes> map_guarded(int descriptor, std::uint64_t offset, std::uint64_t count);

}  // namespace annulus
