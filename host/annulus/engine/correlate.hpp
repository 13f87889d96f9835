// From frames, or polar images, to their angular correlation in a file: a whole run.
#pragma once

#include <annulus/engine/config.hpp>
#include <annulus/engine/run.hpp>
#include <annulus/fxs/correlation.hpp>
#include <annulus/sources/frame_dealer.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace annulus {

struct CorrelateConfig {
  IntegrateConfig reduction;  // inputs, plan, backend, output
  bool polar = false;         // inputs are polar images [q][phi] already
  std::optional<int> scale;   // none: found from the first images
  bool keep_mean = false;
  std::optional<double> least_mean, most_mean;
  std::size_t block = 0;
  bool fast = false;
  std::optional<std::size_t> legendre;  // the largest l
  bool flat = false;                    // of the Ewald sphere
  std::optional<double> wavelength;     // angstrom, of polar images
  double checkpoint = 60;               // seconds
};

// What a process does of a run that several share. Each has an output of its own.
struct CorrelationShare {
  std::shared_ptr<FrameDealer> dealer;
  // Images that others have already, as `append` finds them: they are left out.
  std::vector<std::filesystem::path> others = {};
};

struct CorrelateReport {
  ReductionSummary summary;
  std::shared_ptr<const Correlation> correlation;  // as it was written
  std::shared_ptr<const Plan> plan;                // none of polar images
  std::filesystem::path output;
  std::uint64_t already_stored = 0;  // images that `append` found in the output, and left out
  std::vector<std::string> warnings;
  std::uint64_t checkpoints = 0;
  double plan_seconds = 0, total_seconds = 0;
  bool output_removed = false;  // it would have held no image
  bool failed = false;          // a bad frame ended the scan: summary.first_fault
};

// Throws as run() does.
CorrelateReport correlate(const CorrelateConfig& config, const RunHooks& hooks = {},
                          std::stop_token stop = {});

// A share of it, with the output `config.reduction.output`. All shares need the same scale: find_scale().
CorrelateReport correlate(const CorrelateConfig& config, const CorrelationShare& share,
                          const RunHooks& hooks = {}, std::stop_token stop = {});

// The scale that a run over all inputs takes: of the first images of the scan, whatever is in an output.
int find_scale(const CorrelateConfig& config, std::stop_token stop = {});

}  // namespace annulus
