// The parts of an output file that are written once, before the first frame.
#pragma once

#include <annulus/outputs/hdf5_fields.hpp>
#include <annulus/outputs/sink.hpp>

#include <string>

namespace annulus {

// Fills a new file: everything that NXazint1d asks for, the plan's totals and empty datasets for the frames.
// `name` is the one it will have.
void write_structure(hid_t file, const std::string& name, const Job& job, const RunDescription& run);

// Now, as ISO 8601 with the offset from UTC.
std::string iso_time();

}  // namespace annulus
