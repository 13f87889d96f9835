#include <annulus/core/error.hpp>
#include <annulus/plan/build_steps.hpp>
#include <annulus/plan/plan_cache.hpp>
#include <annulus/plan/plan_file.hpp>
#include <annulus/plan/plan_key.hpp>

#include <fmt/core.h>

#include <system_error>
#include <utility>

namespace annulus {
namespace {

namespace fs = std::filesystem;

// What is wrong with keeping the plan, or nothing.
std::string keep(const fs::path& folder, const std::string& key, const Plan& plan) {
  std::error_code fault;
  fs::create_directories(folder, fault);
  if (fault) {
    return fmt::format("{}: this folder for plans cannot be made: {} (choose another `plan_cache`)",
                       folder.string(), fault.message());
  }
  try {
    write_plan_file(plan_file_in(folder, key), key, plan);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

fs::path plan_file_in(const fs::path& folder, const std::string& key) { return folder / (key + ".plan"); }

CachedPlan cached_plan(const fs::path& folder, const Geometry& geometry, const IntegrationOptions& options,
                       const PixelMaps& maps, const FrameProperties& frames, unsigned threads) {
  const std::string key = plan_key(geometry, options, maps, frames);
  const fs::path file = plan_file_in(folder, key);
  CachedPlan cached;
  cached.plan = begin_plan(geometry, options, frames);
  try {
    cached.loaded = read_plan_file(file, key, cached.plan);
    if (cached.loaded) return cached;
  } catch (const Error& error) {
    cached.note = fmt::format("{}; the plan was built anew", error.what());
  }
  cached.plan = build_plan(geometry, options, maps, frames, threads);
  const std::string fault = keep(folder, key, cached.plan);
  if (!fault.empty()) cached.note += (cached.note.empty() ? "" : "; ") + fault;
  return cached;
}

}  // namespace annulus
