// Files of correlations of one plan as one: exact sums add up.
#pragma once

#include <annulus/outputs/scan_parts.hpp>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace annulus {

struct MergedCorrelations {
  std::uint64_t files = 0;
  std::uint64_t counted = 0, rejected = 0, bad = 0;  // images
  bool finished = false;                             // all files were, and no part is missing
  std::vector<Part> missing_parts;                   // of the scans of which other parts are there
};

// What one run over all their images would have written, but for times and texts about the run: those of the
// first file, made no part. Where parts of a scan are missing, it is not finished, so that others may go on
// with it. Throws kInput, and writes nothing, if shapes, rings, scales, plans, limits or choices of
// coefficients differ, for previews, and if an image is in two of the files; kOutput as write_correlation()
// does. One file after the other is in memory.
MergedCorrelations merge_correlations(const std::vector<std::filesystem::path>& inputs,
                                      const std::filesystem::path& output, bool overwrite);

}  // namespace annulus
