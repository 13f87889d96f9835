// XRD-CT: from the patterns of a scan, an output with motor columns, to tomograms.
#pragma once

#include <annulus/maps/output_grid.hpp>
#include <annulus/outputs/reader.hpp>
#include <annulus/scan/grid_image.hpp>
#include <annulus/xrd_ct/tomo_options.hpp>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace annulus {

// So many frames of the input were read, of so many.
using TomoProgress = std::function<void(std::uint64_t done, std::uint64_t expected)>;

// All bins: writes a volume with a pattern in every voxel (volume_file.hpp), block of bins by block. The
// result does not depend on the blocks. Throws kUsage, kInput and kOutput; kInterrupted once a stop is
// requested. The output appears complete or not at all.
TomoReport reconstruct_bins(const TomoOptions& options, std::stop_token stop = {},
                            const TomoProgress& on_progress = {});

struct WindowTomograms {
  std::vector<GridImage> images;  // NAME_sinogram and NAME_tomogram of each window
  TomoReport report;
};

// Windows, of the frames that the file has; nothing is written. If it is not complete, the angle of the last
// frame is left out, since positions of it may still come.
WindowTomograms reconstruct_windows(const PatternFile& file, const TomoOptions& options, bool complete,
                                    std::stop_token stop = {}, const TomoProgress& on_progress = {});

// Calls `take` each time that further projections are complete, and once more when the scan is: so the last
// result is that of the finished file. A beginning of which no tomogram can be made yet is waited out;
// `wait` is told why.
struct FollowActions {
  std::function<void(const WindowTomograms& tomograms, const PatternFile& file, bool complete)> take;
  std::function<void(std::uint64_t frames, const std::string& reason)> wait;
};
void follow_windows(FollowedOutput& output, const TomoOptions& options, const FollowActions& actions,
                    std::stop_token stop);

}  // namespace annulus
