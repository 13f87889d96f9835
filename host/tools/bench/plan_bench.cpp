#include <annulus/backends/registry.hpp>
#include <annulus/engine/scan_plan.hpp>

#include <tools/bench/candidates.hpp>

#include <memory>
#include <system_error>

namespace annulus {
namespace {

Candidate time_plan(const std::string& what, const IntegrateConfig& config) {
  return {"plan",
          {{"what", what},
           {"threads", config.backend_options.threads},
           {"error_model", std::string(name_of(config.recipe.error_model))}},
          {},
          [config](std::vector<double>& seconds) {
            std::shared_ptr<const Plan> plan;  // its end is not part of the time
            seconds.push_back(seconds_of([&] { plan = make_scan_plan(config).plan; }));
          }};
}

Candidate time_load(unsigned threads, const Job& job) {
  return {
      "plan",
      {{"what", "load"}, {"threads", threads}, {"error_model", std::string(name_of(job.recipe.error_model))}},
      {},
      [=](std::vector<double>& seconds) {
        BackendOptions options;
        options.threads = threads;
        const auto backend = make_backend("cpu", options);
        seconds.push_back(seconds_of([&] { backend->load(job); }));
      }};
}

}  // namespace

std::vector<Candidate> plan_candidates(const BenchContext& context) {
  std::vector<Candidate> candidates;
  for (const ErrorModel model : context.options.error_models) {
    IntegrateConfig config = context.subject.config();
    config.recipe.error_model = model;
    const Job job = make_job(make_scan_plan(config).plan, config.recipe);
    for (const unsigned threads : context.options.threads) {
      config.backend_options.threads = threads;
      candidates.push_back(time_plan("make", config));
      candidates.push_back(time_load(threads, job));
    }
    // The first run leaves the plan in the cache, from which all others take it. Without a file there is
    // nothing to be timed.
    config.plan_cache = (context.scratch / "plans").string();
    std::error_code ignored;
    std::filesystem::create_directories(config.plan_cache, ignored);
    make_scan_plan(config);
    if (!std::filesystem::is_empty(config.plan_cache, ignored))
      candidates.push_back(time_plan("cached", config));
  }
  return candidates;
}

}  // namespace annulus
