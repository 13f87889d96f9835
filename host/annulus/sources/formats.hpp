// The formats of files: how each is recognised by its first bytes, and opened. Every format has a .cpp of its
// name.
#pragma once

#include <annulus/sources/frame_source.hpp>
#include <annulus/sources/input_file.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

// CBF with one byte-offset image, as DECTRIS detectors, XDS and FabIO write it.
inline constexpr std::string_view kCbfSection = "--CIF-BINARY-FORMAT-SECTION--";
inline constexpr std::string_view kCbfStart("\x0c\x1a\x04\xd5", 4);  // the binary follows these bytes

bool looks_like_cbf(std::span<const std::byte> head);

// Reads the header only. Frames of signed 32-bit pixels stay compressed; other integer types are decoded by
// read().
std::unique_ptr<FrameSource> open_cbf(std::unique_ptr<InputFile> file, const OpenOptions& options);

// EDF (ESRF data format): text headers in braces, each followed by one binary image.
bool looks_like_edf(std::span<const std::byte> head);
std::unique_ptr<FrameSource> open_edf(std::unique_ptr<InputFile> file);

// TIFF with one sample per pixel: integers, floats and 1-bit masks; every page is a frame.
bool looks_like_tiff(std::span<const std::byte> head);
std::unique_ptr<FrameSource> open_tiff(std::unique_ptr<InputFile> file);

// NumPy's .npy: an image, or a stack of them.
bool looks_like_npy(std::span<const std::byte> head);
std::unique_ptr<FrameSource> open_npy(std::unique_ptr<InputFile> file, const OpenOptions& options);

// HDF5: datasets of images or stacks. Chunks of bitshuffle and LZ4 are handed on as they are, without the
// library's filter plugins; other filters are the library's.
bool looks_like_hdf5(std::span<const std::byte> head);

// An empty dataset path means the default of the file (hdf5_find.hpp).
std::unique_ptr<FrameSource> open_hdf5(const std::string& path, const std::string& dataset,
                                       const OpenOptions& options);

// What a probe does that is asked for frames (hdf5/probe.hpp): all that open_hdf5() does, and reading all of
// the structure that frames will need.
inline constexpr const char* kProbeFrames = "frames";
void touch_hdf5(const std::vector<std::string>& request);

// Headerless files: frames of a given shape and type, one after the other, little endian.
// options.raw_shape must be set.
std::unique_ptr<FrameSource> open_raw(std::unique_ptr<InputFile> file, const OpenOptions& options);

}  // namespace annulus
