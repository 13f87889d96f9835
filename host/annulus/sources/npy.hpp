// NumPy's .npy: an image, or a stack of them.
#pragma once

#include <annulus/sources/frame_source.hpp>
#include <annulus/sources/input_file.hpp>

#include <memory>

namespace annulus {

bool looks_like_npy(std::span<const std::byte> head);
std::unique_ptr<FrameSource> open_npy(std::unique_ptr<InputFile> file);

}  // namespace annulus
