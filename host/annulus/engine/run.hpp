// A whole run, from a configuration to a closed output: what the program, Python and a server do alike.
#pragma once

#include <annulus/backends/common/backend.hpp>
#include <annulus/engine/config.hpp>
#include <annulus/engine/reduce.hpp>
#include <annulus/plan/plan.hpp>
#include <annulus/sources/frame_stream.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

// What a run tells while it goes on. Each may be empty.
struct RunHooks {
  std::function<void(const std::string& text)> note = {};     // for the user: nothing is wrong
  std::function<void(const std::string& text)> warning = {};  // what can hardly be meant, and why
  std::function<void(const Plan& plan)> planned = {};         // before the first frame
  std::function<void(const ReductionProgress& now)> progress = {};
};

struct RunReport {
  ReductionSummary summary;
  std::shared_ptr<const Plan> plan;
  bool plan_loaded = false;                                    // from the folder of plans, not built
  std::string frames_from;                                     // the first file, with its dataset and shape
  std::vector<std::pair<std::string, std::string>> from_file;  // as in ScanPlan
  std::vector<std::string> masks;                              // likewise
  std::vector<std::string> warnings;                           // likewise, and what was noticed at the end
  std::vector<ColumnInfo> columns;                             // values per frame
  std::string monitor;                                         // the one of them that divides; empty: none
  std::filesystem::path output;
  std::uint64_t already_stored = 0;  // frames that `append` found in the output, and left out
  std::uint64_t already_bad = 0;     // of these, recorded as bad
  bool output_removed = false;       // it would have held no frame, and been in the way of the next try
  std::string backend;
  std::vector<StageTime> profile;  // of the backend, if it was asked for
  double plan_seconds = 0;         // opening the first frame, maps and the plan
  double total_seconds = 0;

  // A bad frame ended the scan: summary.first_fault.
  bool failed = false;
};

// Throws what goes wrong before the first frame, with kInterrupted if a stop is requested before there is a
// plan, and what the backend and the output throw. A scan that was interrupted, or ended by a bad frame, is
// reported: what came before is in the output.
RunReport run(const IntegrateConfig& config, const RunHooks& hooks = {}, std::stop_token stop = {});

struct Share;  // share.hpp

// The same for the frames that are this process's share of the scan. What is reported is of these.
RunReport run(const IntegrateConfig& config, const Share& share, const RunHooks& hooks = {},
              std::stop_token stop = {});

// The same for frames that come from elsewhere: the configuration's inputs mean nothing.
RunReport run(const IntegrateConfig& config, FrameStream& stream, const RunHooks& hooks = {},
              std::stop_token stop = {});

}  // namespace annulus
