// In place of the number of a frame, where it is asked whether a frame is stored: a source as a whole. It is
// stored if its only frame is, good or bad, or that it could not be read.
#pragma once

#include <cstdint>
#include <limits>

namespace annulus {

inline constexpr std::uint64_t kWholeSource = std::numeric_limits<std::uint64_t>::max();

}  // namespace annulus
