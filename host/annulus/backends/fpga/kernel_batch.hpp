// What backends that launch kernels share: batches of mixed frames to launches, and launches to results.
#pragma once

#include <annulus/backends/common/backend.hpp>

#include <hls/layout.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace annulus {

// What a launch left in memory: result_beats_of(bins) and missing_beats_of(bins) for each frame.
struct LaunchSums {
  std::vector<kernels::SumBeat> results;
  std::vector<kernels::SumBeat> missing;  // may be left empty if no frame has invalid pixels
};

// Runs the kernel for `codec` on frames of that codec and one type.
using LaunchFrames = std::function<LaunchSums(Codec codec, std::span<const Frame* const> frames)>;

// Results in the order of the frames; those that no kernel could take have their error and are not launched.
// Blocks that no kernel takes, or none if `has_bslz4` is false, are decoded here and launched as plain
// pixels.
std::vector<FrameResult> reduce_by_launches(const Job& job, const std::vector<Frame>& frames, bool has_bslz4,
                                            const LaunchFrames& launch);

}  // namespace annulus
