#include <annulus/core/error.hpp>
#include <annulus/geometry/detector.hpp>

#include <tools/bench/backend_case.hpp>
#include <tools/bench/candidates.hpp>

#include <algorithm>
#include <memory>

namespace annulus {
namespace {

BackendCase usual_case(const BenchOptions& options) {
  return {options.instruction_sets.back(), *std::max_element(options.threads.begin(), options.threads.end()),
          0};
}

Candidate time_workload(const char* bench, Parameters parameters, const BackendCase& backend_case,
                        const std::shared_ptr<const Workload>& workload) {
  const Work work = work_of(backend_case, *workload);
  parameters.insert(parameters.end(),
                    {{"threads", backend_case.threads},
                     {"error_model", std::string(name_of(workload->job.recipe.error_model))}});
  return {bench, std::move(parameters), work,
          [=](std::vector<double>& seconds) { time_backend(backend_case, *workload, work.frames, seconds); }};
}

// As many frames as make about as many pixels as those of the usual detector: neither small nor large
// detectors shall find their frames in the cache.
std::uint64_t frames_of(std::uint64_t pixels, const BenchContext& context) {
  constexpr std::uint64_t kLeast = 2;
  return std::max(kLeast, context.subject.frames().size() * context.subject.pixels() / pixels);
}

}  // namespace

std::vector<Candidate> detector_candidates(const BenchContext& context) {
  if (!context.subject.simulated()) {
    throw Error(ErrorKind::kUsage, "`only` detectors", "frames of several detectors can only be simulated",
                "leave the inputs out");
  }
  const ErrorModel model = context.options.error_models.front();
  std::vector<Candidate> candidates;
  for (const std::string& name : context.options.detectors) {
    BenchOptions options = context.options;
    options.simulation.detector = name;
    options.frames = frames_of(simulated_geometry(options.simulation).detector.shape.size(), context);
    const Subject subject(options, context.scratch / ("detector_" + name));
    const auto workload = std::make_shared<Workload>();
    workload->job = subject.make_job(model);
    workload->frames = subject.frames();
    candidates.push_back(time_workload("detectors",
                                       {{"detector", subject.name()}, {"pixels", subject.pixels()}},
                                       usual_case(context.options), workload));
  }
  return candidates;
}

std::vector<Candidate> bins_candidates(const BenchContext& context) {
  const ErrorModel model = context.options.error_models.front();
  std::vector<Candidate> candidates;
  for (const std::uint32_t bins : context.options.bins) {
    const auto workload = std::make_shared<Workload>();
    workload->job = context.subject.make_job(model, bins);
    workload->frames = context.subject.frames();
    candidates.push_back(time_workload("bins", {{"bins", bins}}, usual_case(context.options), workload));
  }
  return candidates;
}

}  // namespace annulus
