// How a picture is known to be one of ours, which the next one may replace.
#pragma once

#include <filesystem>

namespace annulus {

// Adds the mark to a complete PNG or SVG: a text that viewers take no notice of. Returns errno, 0 for
// success.
int mark_picture(const std::filesystem::path& picture, bool vector);

bool is_marked_picture(const std::filesystem::path& picture);

}  // namespace annulus
