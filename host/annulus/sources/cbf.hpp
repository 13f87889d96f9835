// CBF with one byte-offset image, as DECTRIS detectors, XDS and FabIO write it.
#pragma once

#include <annulus/sources/frame_source.hpp>
#include <annulus/sources/input_file.hpp>

#include <memory>

namespace annulus {

inline constexpr std::string_view kCbfSection = "--CIF-BINARY-FORMAT-SECTION--";
inline constexpr std::string_view kCbfStart("\x0c\x1a\x04\xd5", 4);  // the binary follows these bytes

bool looks_like_cbf(std::span<const std::byte> head);

// Reads the header only. Frames of signed 32-bit pixels stay compressed; other integer types are decoded by
// read().
std::unique_ptr<FrameSource> open_cbf(std::unique_ptr<InputFile> file, const OpenOptions& options);

}  // namespace annulus
