// Another normalisation of an output, from the integers that it holds: what reducing its frames again with
// another monitor would give, to the last bit.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/engine/reduce.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace annulus {

struct RenormaliseOptions {
  std::filesystem::path input;
  std::filesystem::path output;
  std::string monitor;  // as of an integration, but for headers; empty: none
  double normalization_factor = 1;
  std::string allow_links;
  bool keep_going = false;  // a frame whose monitor cannot divide is recorded as bad
  bool overwrite = false;
};

struct RenormaliseReport {
  std::uint64_t frames = 0;
  std::uint64_t bad = 0;             // all of them
  std::optional<Error> first_fault;  // of a monitor
  std::vector<ColumnInfo> columns;   // of the output
  bool unclosed = false;             // the input has no end: its run was killed, or goes on
  std::string monitor;               // the one of them that divides; empty: none
};

// A table has one row per frame of the input. Frames of the input that are bad stay so, except those that
// were only for their monitor. Checks the checksums of all that it reads. Throws kInput, kUsage and kOutput;
// kInterrupted once a stop is requested. The output appears complete or not at all.
RenormaliseReport renormalise(const RenormaliseOptions& options, std::stop_token stop = {},
                              const std::function<void(const ReductionProgress&)>& on_progress = {});

}  // namespace annulus
