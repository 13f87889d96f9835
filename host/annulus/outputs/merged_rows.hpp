// The rows of several outputs of one plan as those of one.
#pragma once

#include <annulus/outputs/reader.hpp>
#include <annulus/outputs/scan_parts.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace annulus {

enum class RowOrder {
  kByNumber,  // parts of one scan: by frame_index, which no two frames share
  kByFile,    // different scans: one behind the other, and counted through
};

// Consecutive rows of one output, whose frames have consecutive numbers.
struct RowRun {
  std::size_t input = 0;
  std::uint64_t row = 0;  // the first, in its output
  std::uint64_t count = 0;
  std::uint64_t number = 0;    // of the first, among the frames of all
  std::uint64_t position = 0;  // of the first, among the rows of all
};

struct MergeInput {
  std::filesystem::path path;
  OutputHeader header;
  std::uint64_t frames = 0;
  std::uint64_t bad = 0;
  bool closed = true;
};

struct MergedRows {
  std::vector<MergeInput> inputs;
  std::vector<RowRun> runs;  // in the order of rows
  std::uint64_t frames = 0;
  std::uint64_t bad = 0;
  std::uint64_t missing = 0;        // numbers before the last that no frame has
  std::vector<PartOfScan> parts;    // of scans, that are there
  std::vector<Part> missing_parts;  // of the scans of which other parts are there
};

// Why outputs with these stored configurations do not go together; empty if they do.
using DifferenceOfRuns = std::function<std::string(const std::string& config, const std::string& other)>;

// Throws kInput if an output cannot be read, or if two differ in their plan, errors, precision or columns, or
// as `difference` says, hold the same frame, or, by number, are parts of different scans or hold another
// frame of the same number.
MergedRows merge_rows(const std::vector<std::filesystem::path>& outputs, RowOrder order,
                      const DifferenceOfRuns& difference);

}  // namespace annulus
