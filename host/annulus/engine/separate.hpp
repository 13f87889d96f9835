// Spots of single crystals and the powder behind them, as images: from the patterns that a clip leaves.
#pragma once

#include <annulus/engine/run.hpp>

#include <cstdint>
#include <filesystem>
#include <stop_token>

namespace annulus {

// Images are held together until they are written.
constexpr std::uint64_t kMostFramesToSeparate = 64;

struct SeparateReport {
  RunReport run;                 // of the clip
  std::filesystem::path images;  // `powder` and `spots` of each frame
  std::uint64_t frames = 0;      // that have images
  std::uint64_t outliers = 0;    // pixels in spots, of all frames
};

// Runs the configuration, whose clip is by sigma if it has none, with lists of outliers, and makes of each
// frame two images in its own counts:
//  powder: what each pixel would have of the clipped pattern, by its shares in the bins;
//  spots: what outliers have more or less than that, 0 elsewhere.
// Both are NaN where a pixel is in no bin, in one without intensity, or invalid.
// Throws what run() throws, and kUsage for more frames than that and for options that make no sense here.
SeparateReport separate(IntegrateConfig config, const std::filesystem::path& images,
                        const RunHooks& hooks = {}, std::stop_token stop = {});

}  // namespace annulus
