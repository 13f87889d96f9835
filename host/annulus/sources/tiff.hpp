// TIFF with one sample per pixel: integers, floats and 1-bit masks; every page is a frame.
#pragma once

#include <annulus/sources/frame_source.hpp>
#include <annulus/sources/input_file.hpp>

#include <memory>

namespace annulus {

bool looks_like_tiff(std::span<const std::byte> head);
std::unique_ptr<FrameSource> open_tiff(std::unique_ptr<InputFile> file);

}  // namespace annulus
