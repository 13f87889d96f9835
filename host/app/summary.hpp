// What a run did and how fast, for people and for programs.
#pragma once

#include <annulus/engine/reduction.hpp>

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace annulus::app {

struct RunReport {
  ReductionSummary summary;
  const Plan* plan = nullptr;
  bool plan_loaded = false;                                    // from --plan-cache, not built
  std::vector<std::pair<std::string, std::string>> from_file;  // as in ScanPlan
  std::filesystem::path output;
  std::string backend;
  std::vector<StageTime> profile;  // of the backend, if it was asked for
  double plan_seconds = 0;         // opening the first frame, maps and the plan
  double total_seconds = 0;
};

std::string to_text(const RunReport& report);
nlohmann::ordered_json to_json(const RunReport& report);

}  // namespace annulus::app
