// In place of the number of a frame, where it is asked whether a frame is stored: a source as a whole. It is
// stored if a bad frame of it is.
#pragma once

#include <cstdint>
#include <limits>

namespace annulus {

inline constexpr std::uint64_t kWholeSource = std::numeric_limits<std::uint64_t>::max();

}  // namespace annulus
