// Files of correlations of one plan as one: exact sums add up.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace annulus {

struct MergedCorrelations {
  std::uint64_t files = 0;
  std::uint64_t counted = 0, rejected = 0, bad = 0;  // images
};

// What one run over all their images would have written, but for times and texts about the run: those of the
// first file. Throws kInput, and writes nothing, if shapes, rings, scales, plans or limits differ, for
// previews, and if an image is in two of the files; kOutput as write_correlation() does. One file after the
// other is in memory.
MergedCorrelations merge_correlations(const std::vector<std::filesystem::path>& inputs,
                                      const std::filesystem::path& output, bool overwrite);

}  // namespace annulus
