// HDF5: datasets of images or stacks. Chunks of bitshuffle and LZ4 are handed on as they are, without the
// library's filter plugins; other filters are the library's.
#pragma once

#include <annulus/sources/frame_source.hpp>

#include <memory>
#include <span>
#include <string>

namespace annulus {

bool looks_like_hdf5(std::span<const std::byte> head);

// An empty dataset path means the default of the file (hdf5_find.hpp).
std::unique_ptr<FrameSource> open_hdf5(const std::string& path, const std::string& dataset,
                                       const OpenOptions& options);

}  // namespace annulus
