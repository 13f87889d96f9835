// Which images of one or two files go side by side.
#pragma once

#include <annulus/scan/grid_image.hpp>

#include <vector>

namespace annulus {

// Images that share their name before its last underscore (Au_sinogram, Au_tomogram) make one row, in the
// order of the first of each. If no two do, they fill as many columns as rows.
std::vector<std::vector<GridImage>> rows_of_images(std::vector<GridImage> images);

// Those of another file go first in the row that has the same name. If none has, they go beside the others in
// their order. What has no partner makes a row of its own, behind the others.
std::vector<std::vector<GridImage>> rows_of_images(std::vector<GridImage> beside,
                                                   std::vector<GridImage> images);

}  // namespace annulus
