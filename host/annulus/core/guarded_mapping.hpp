// A part of a file mapped for reading, which others may truncate or rewrite meanwhile.
//
// Reading a page that is no longer there raises SIGBUS, which would end the process. Here it is answered: the
// rest of the mapping becomes zeros, and the bytes are no longer intact(). Whoever used them must ask
// afterwards, because a file cut within its last page, or rewritten, raises nothing.
//
// This is the only signal handler of the library. It is installed by the first call, once per process. A bus
// error elsewhere, and one that a process sends, go to the handler that was there before, or end the process
// as they would without. A handler that the program installs later must pass on what is not its own in the
// same way, or the guard is gone. Who wants no handler does not map: OpenOptions::map_payloads, the option
// `no_mapping`.
#pragma once

#include <annulus/core/bytes.hpp>

#include <cstdint>
#include <optional>

namespace annulus {

// None if the file cannot be mapped, or too many mappings are alive: read it instead. The descriptor may be
// closed afterwards.
std::optional<Bytes> map_guarded(int descriptor, std::uint64_t offset, std::uint64_t count);

}  // namespace annulus
