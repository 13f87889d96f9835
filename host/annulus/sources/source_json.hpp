// What the command `info` tells of a file.
#pragma once

#include <annulus/sources/frame_source.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace annulus {

// {"format", "shape": [rows, cols], "type", "frames", "min", "max", "sum", "pixels_sha256", "max_count",
// "wavelength"}. Of frame 0: min, max and sum, exact for integers, over finite values for floats (null if
// there are none); pixels_sha256 over the pixels as little-endian int64, or float64 for float types.
// max_count and wavelength (metre) are null where the file does not say.
nlohmann::json describe_source(const FrameSource& source, const std::string& url);

}  // namespace annulus
