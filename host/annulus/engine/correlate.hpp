// From frames, or polar images, to their angular correlation in a file: a whole run.
#pragma once

#include <annulus/engine/correlate_config.hpp>
#include <annulus/engine/run.hpp>
#include <annulus/fxs/correlation.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace annulus {

struct CorrelateReport {
  ReductionSummary summary;
  Correlation correlation;  // as it was written; previews have no sums
  bool preview = false;
  std::shared_ptr<const Plan> plan;  // none of polar images
  std::vector<std::string> masks;    // as in ScanPlan
  std::filesystem::path output;
  std::uint64_t already_stored = 0;  // snapshots that `append` found in the output, and left out
  std::uint64_t checkpoints = 0;     // times that the output was written before the end
  std::vector<std::string> warnings;
  double plan_seconds = 0, total_seconds = 0;
  bool failed = false;  // a bad frame ended the scan: summary.first_fault
};

// Throws as run() does. What was correlated before an interruption, a bad frame or sums that are full is in
// the output, which is then not finished. Nothing is written if there is no snapshot at all.
CorrelateReport correlate(const CorrelateConfig& config, const RunHooks& hooks = {},
                          std::stop_token stop = {});

// The same for the snapshots that are this process's share of the scan. All shares need the same scale:
// `config.scale` is find_scale() of the scan.
CorrelateReport correlate(const CorrelateConfig& config, const Share& share, const RunHooks& hooks = {},
                          std::stop_token stop = {});

// Refuses a place that the correlation may not be written to, before there is anything to write. Whether
// there is one already.
bool check_place_of(const CorrelateConfig& config, const std::filesystem::path& output);

// What ranks of an earlier run left beside the output (outputs/master_file.hpp) would enter the sums of
// whoever goes on with it. Removes it if the run replaces what is there, and refuses it otherwise: throws
// kOutput.
void clear_parts(const IntegrateConfig& reduction, const std::filesystem::path& output);

// The scale that a run over all inputs takes: of the first images of the scan, whatever an output holds.
int find_scale(const CorrelateConfig& config, std::stop_token stop = {});

}  // namespace annulus
