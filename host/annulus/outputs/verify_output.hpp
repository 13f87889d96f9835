// Checks an output file against itself: patterns, norm and the number of invalid pixels must follow from the
// accumulators stored beside them, axes must lie in the middle of their edges, and everything must have the
// checksum that was stored with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace annulus {

struct OutputCheck {
  std::uint64_t frames = 0;
  std::uint64_t recorded_bad = 0;  // of them, when they were reduced
  std::vector<std::string>
      faults;                      // of the file, and one a frame that does not hold, with its number and bin
  std::vector<std::string> notes;  // what could not be verified, and why that is no fault
};

// Normalises the stored integers again and compares bit for bit; frames that were recorded as bad must be
// NaN. Throws kInput if the file cannot be read.
OutputCheck verify_output(const std::filesystem::path& path);

}  // namespace annulus
