// HDF5: datasets of images or stacks, read through the library and its filter plugins.
#pragma once

#include <annulus/formats/frame_source.hpp>

#include <memory>
#include <span>
#include <string>

namespace annulus {

bool looks_like_hdf5(std::span<const std::byte> head);

// An empty dataset path means the default of the file (hdf5_find.hpp).
std::unique_ptr<FrameSource> open_hdf5(const std::string& path, const std::string& dataset);

}  // namespace annulus
