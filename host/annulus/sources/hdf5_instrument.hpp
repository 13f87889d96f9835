// What NXmx and DECTRIS files say of the instrument, in the entry that the images belong to.
// Used with the HDF5 lock held.
#pragma once

#include <annulus/sources/frame_source.hpp>
#include <annulus/sources/hdf5_file.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace annulus {

// Saturation, wavelength, place of the detector and number of frames, for images at `dataset`.
void read_instrument(hid_t file, const std::string& dataset, SourceInfo& info);

// The dataset that marks pixels to exclude, if there is one.
std::optional<DatasetPlace> find_pixel_mask(hid_t file, const std::string& file_path, const Fence& fence,
                                            const std::string& dataset);

}  // namespace annulus
