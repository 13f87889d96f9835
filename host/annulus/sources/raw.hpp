// Headerless files: frames of a given shape and type, one after the other, little endian.
#pragma once

#include <annulus/sources/frame_source.hpp>
#include <annulus/sources/input_file.hpp>

#include <memory>

namespace annulus {

// options.raw_shape must be set.
std::unique_ptr<FrameSource> open_raw(std::unique_ptr<InputFile> file, const OpenOptions& options);

}  // namespace annulus
