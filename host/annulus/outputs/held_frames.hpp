// Which frames some outputs hold: what those who go on with a scan leave out.
#pragma once

#include <annulus/outputs/sink.hpp>

#include <filesystem>
#include <functional>
#include <vector>

namespace annulus {

// Reads these outputs once, now. Names of frames' sources are relative to `folder`. Outputs that do not exist
// hold nothing. Throws kInput.
std::function<Held(const FrameId& frame)> held_frames(const std::vector<std::filesystem::path>& outputs,
                                                      const std::filesystem::path& folder);

}  // namespace annulus
