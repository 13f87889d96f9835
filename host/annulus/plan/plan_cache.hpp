// Plans that are kept on disk from one run to the next (`plan_cache`).
#pragma once

#include <annulus/plan/plan.hpp>

#include <filesystem>
#include <string>

namespace annulus {

struct CachedPlan {
  Plan plan;
  bool loaded = false;  // not built
  std::string note;     // what the user should know: a file that was damaged, a folder that cannot be written
};

// The plan of build_plan, taken from `folder` if it is there, built and put there if it is not. The folder is
// made if need be, for this user only. Files and folders that others can have written are not used (see
// private_folder.hpp in core). Trouble with it costs time, never the plan: it is told in the note. Throws
// what build_plan throws.
CachedPlan cached_plan(const std::filesystem::path& folder, const Geometry& geometry,
                       const IntegrationOptions& options, const PixelMaps& maps,
                       const FrameProperties& frames, unsigned threads = 0);

// Where the plan with this key lies.
std::filesystem::path plan_file_in(const std::filesystem::path& folder, const std::string& key);

}  // namespace annulus
