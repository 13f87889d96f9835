// The "# Key value" lines that DECTRIS detectors write into CBF headers and TIFF descriptions.
#pragma once

#include <annulus/sources/frame_source.hpp>

#include <string_view>

namespace annulus {

// Appends the lines to info.header and takes Count_cutoff and Wavelength from them.
void read_dectris_lines(std::string_view text, SourceInfo& info);

}  // namespace annulus
