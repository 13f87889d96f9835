// A flat detector: its pixels, and which of them do not exist.
#pragma once

#include <annulus/core/image.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

// How a family of modular detectors tiles its modules; all 0 for a detector without gaps.
struct ModuleGrid {
  Shape module;              // pixels of one module
  Shape gap;                 // dead pixels between modules
  std::uint32_t middle = 0;  // dead columns in the middle of every module: CdTe modules carry two crystals

  bool operator==(const ModuleGrid&) const = default;
};

struct Detector {
  std::string name;  // as in pyFAI: "Pilatus2M", or "Detector" for a generic one
  std::vector<std::string> aliases;
  Shape shape;        // 0 x 0 for a generic detector whose shape comes from the frames
  double pixel1 = 0;  // size along rows' direction (slow), metre
  double pixel2 = 0;  // along columns (fast), metre
  ModuleGrid grid;
  bool round = false;    // only a disc of the square image is sensitive (imaging plates, tapered CCDs)
  bool dectris = false;  // dummy pixels are marked as numerics.md says

  // The pixels between modules and outside the disc; all 0 where there are none.
  Mask gap_mask() const;

  bool operator==(const Detector&) const = default;
};

// Looks a name or alias up, ignoring case, blanks, underscores and hyphens. Throws kGeometry with near names.
const Detector& find_detector(std::string_view name);
const std::vector<Detector>& detector_catalogue();

// A detector of the catalogue read out with pixels of this size: binning decides its shape. Sizes within 5 %
// of a known readout count as that readout, since calibrations refine them; others throw kGeometry.
Detector with_pixel_sizes(const Detector& detector, double pixel1, double pixel2);

}  // namespace annulus
