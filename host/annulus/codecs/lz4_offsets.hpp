// What the LZ4 library does not look at.
#pragma once

#include <cstddef>
#include <span>

namespace annulus {

// Whether a block that the library has decoded holds a match at a distance of 0. There is no such match: the
// format forbids it, yet the library takes it and leaves bytes as they were in memory.
bool has_offset_zero(std::span<const std::byte> packed);

}  // namespace annulus
