// Names of image files: which they are in a folder, and in which order.
#pragma once

#include <filesystem>
#include <string>

namespace annulus {

// Order of file names that a person expects: digits compare as numbers.
bool natural_less(const std::string& a, const std::string& b);

// The extension in small letters.
std::string lower_extension(const std::filesystem::path& path);

// By the extension, and not hidden. Only for folders, where opening everything would be wrong as often as
// right.
bool is_image_name(const std::filesystem::path& path);

// A file of this name holds one frame: a CBF file, packed or not.
bool names_one_frame(const std::filesystem::path& path);

bool is_hdf5_name(const std::filesystem::path& path);

}  // namespace annulus
