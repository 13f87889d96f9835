// Several outputs of one plan as one: their frames, or one pattern of them.
#pragma once

#include <annulus/engine/reduce.hpp>
#include <annulus/outputs/scan_parts.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <vector>

namespace annulus {

enum class MergeTo {
  kFrames,  // all frames, copied
  kMaster,  // all frames, which stay where they are (outputs/master_file.hpp)
  kMean,    // one pattern (merged_pattern.hpp)
  kSum,
};

struct MergeOptions {
  std::vector<std::filesystem::path> inputs;
  std::filesystem::path output;
  MergeTo to = MergeTo::kFrames;
  bool scans = false;  // of different scans: one behind the other, in this order; otherwise parts of one
  bool overwrite = false;
};

struct MergeReport {
  std::uint64_t frames = 0;                     // of the inputs
  std::uint64_t bad = 0;                        // of these; left out of a mean or sum
  std::uint64_t missing = 0;                    // of the scan, before its last frame: no input holds them
  std::vector<Part> missing_parts;              // of the scans of which other parts are inputs
  std::vector<std::filesystem::path> unclosed;  // inputs whose run was killed, or goes on
};

// Checks the checksums of all frames that it reads. Throws kInput, kUsage and kOutput; kInterrupted once a
// stop is requested. The output appears complete or not at all.
MergeReport merge_outputs(const MergeOptions& options, std::stop_token stop = {},
                          const std::function<void(const ReductionProgress&)>& on_progress = {});

}  // namespace annulus
