// The time that outputs say they were made at.
#pragma once

#include <string>

namespace annulus {

// Now, as ISO 8601 with the offset from UTC.
std::string iso_time();

}  // namespace annulus
