#include <annulus/core/error.hpp>
#include <annulus/core/private_folder.hpp>
#include <annulus/plan/build_steps.hpp>
#include <annulus/plan/plan_cache.hpp>
#include <annulus/plan/plan_file.hpp>
#include <annulus/plan/plan_key.hpp>

#include <fmt/core.h>

#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

// What is wrong with keeping the plan, or nothing.
std::string keep(const fs::path& file, const std::string& key, const Plan& plan) {
  try {
    write_plan_file(file, key, plan);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// Fills in what the file has, and says whether there is a good one; the note says why not.
bool load(const fs::path& file, const std::string& key, unsigned threads, CachedPlan& cached) {
  try {
    return read_plan_file(file, key, cached.plan, threads);
  } catch (const Error& error) {
    cached.note = fmt::format("{}; the plan was built anew", error.what());
    return false;
  }
}

}  // namespace

fs::path plan_file_in(const fs::path& folder, const std::string& key) { return folder / (key + ".plan"); }

CachedPlan cached_plan(const fs::path& folder, const Geometry& geometry, const IntegrationOptions& options,
                       const PixelMaps& maps, const FrameProperties& frames, unsigned threads) {
  const std::string key = plan_key(geometry, options, maps, frames);
  const fs::path file = plan_file_in(folder, key);
  CachedPlan cached;
  cached.plan = begin_plan(geometry, options, frames);
  if (const std::string fault = private_folder_fault(folder); !fault.empty()) {
    cached.note = fmt::format(
        "{}: this folder for plans {}. The plan was built and not kept; another `plan_cache` helps, too",
        folder.string(), fault);
    cached.plan = build_plan(geometry, options, maps, frames, threads);
    return cached;
  }
  cached.loaded = load(file, key, threads, cached);
  if (cached.loaded) return cached;
  cached.plan = build_plan(geometry, options, maps, frames, threads);
  const std::string fault = keep(file, key, cached.plan);
  if (!fault.empty()) cached.note += (cached.note.empty() ? "" : "; ") + fault;
  return cached;
}

}  // namespace annulus
