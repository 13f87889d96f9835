// What sinks check before they write.
#pragma once

#include <annulus/outputs/sink.hpp>

#include <cstddef>
#include <filesystem>
#include <vector>

namespace annulus {

// Throws kOutput if the frame is not one of the job. A bad frame has no numbers, a good one has all of them:
// anything else would be a wrong number in silence.
void check_frame(const Job& job, const ReducedFrame& frame, std::size_t columns);

// Throws kOutput unless every column has a name of its own that can be a field's.
void check_columns(const std::filesystem::path& output, const std::vector<ColumnInfo>& columns);

// Throws kOutput if the folder of `file` does not exist.
void check_output_folder(const std::filesystem::path& file);

}  // namespace annulus
