// From a configuration to the frames it names and the plan for them: what all commands that run frames begin
// with.
#pragma once

#include <annulus/engine/config.hpp>
#include <annulus/engine/file_defaults.hpp>
#include <annulus/plan/plan.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

struct ScanPlan {
  std::vector<std::string> urls;
  OpenOptions open;
  std::string poni_text;  // of the PONI file, or made from what the frames' file states
  std::shared_ptr<const Plan> plan;
  bool plan_loaded = false;        // from the folder of plans, not built
  std::vector<std::string> notes;  // for the user: about that folder, and frames that are missing

  FileDefaults defaults;  // for ReductionSettings

  // What the frames' own file decided: "geometry", "wavelength" and "mask", with a text for the user.
  std::vector<std::pair<std::string, std::string>> from_file;
};

// Throws kUsage for a configuration that makes no sense, and what reading its files and build_plan throw.
// Once *stop_requested is true no file that is still to come is waited for.
ScanPlan make_scan_plan(const IntegrateConfig& config, const std::atomic<bool>* stop_requested = nullptr);

}  // namespace annulus
