// EDF (ESRF data format): text headers in braces, each followed by one binary image.
#pragma once

#include <annulus/sources/frame_source.hpp>
#include <annulus/sources/input_file.hpp>

#include <memory>

namespace annulus {

bool looks_like_edf(std::span<const std::byte> head);
std::unique_ptr<FrameSource> open_edf(std::unique_ptr<InputFile> file);

}  // namespace annulus
