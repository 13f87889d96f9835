// What was measured beside the frames of a phantom's scan: motors, monitor and time, one value a frame.
#pragma once

#include <tools/simulate/hdf5_output.hpp>
#include <tools/simulate/phantom_pattern.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

// A text file: a line of names, then a line a frame, with numbers that read back as they were. Throws
// kOutput.
void write_columns(const std::filesystem::path& path, const PhantomPattern& sample);

// Lines of a CBF header, as Pilatus detectors name them: key, and value with its unit.
std::vector<std::pair<std::string, std::string>> header_lines(const PhantomPattern& sample,
                                                              std::uint64_t frame);

// NeXus datasets: sample/x_translation and rotation_angle, control/data (a monitor), and start_time of the
// detector.
void describe_columns(hid_t entry, hid_t detector, const PhantomPattern& sample, const Describer& describe);

}  // namespace annulus
