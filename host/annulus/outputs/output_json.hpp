// What output files and files of images hold, for `annulus info`.
#pragma once

#include <annulus/scan/grid_image.hpp>

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

namespace annulus {

// frames, good, bad (a list with frame, source and reason), bins, unit, range, plan_hash, program, options...
// Throws kInput.
nlohmann::json describe_output(const std::filesystem::path& path);

// kind, and of each image shape, axes and range; what they were made of. Throws kInput.
nlohmann::json describe_images(const std::filesystem::path& path);

// Of an axis with positions.
nlohmann::json describe_axis(const ImageAxis& axis);

}  // namespace annulus
