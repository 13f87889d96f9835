// What titles and messages call frames.
#pragma once

#include <annulus/outputs/reader.hpp>

#include <cstdint>
#include <string>

namespace annulus {

// "1 frame", "20 frames"
std::string frame_count(std::uint64_t frames);

// The source, and the frame's number in it where the source can hold several.
std::string frame_name(const FrameRecord& record);

}  // namespace annulus
