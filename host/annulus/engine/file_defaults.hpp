// What a scan takes from its first file, because nobody else says it: all other files have to agree.
#pragma once

#include <annulus/geometry/geometry.hpp>
#include <annulus/sources/frame_source.hpp>

#include <optional>
#include <string>

namespace annulus {

struct FileDefaults {
  std::string url;                   // the first file
  std::optional<Geometry> geometry;  // without a PONI file
  std::optional<double> wavelength;  // for a PONI file that has none
  bool masked = false;               // unless `no_file_mask` is given
  std::optional<Mask> mask;
};

// Throws kInput if the file at `url` states something else. A file that states no mask, or no wavelength, is
// one of those that say nothing of themselves.
void check_agreement(const FileDefaults& defaults, const FrameSource& source, const std::string& url);

}  // namespace annulus
