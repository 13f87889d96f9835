#include <annulus/backends/common/backend.hpp>
#include <annulus/backends/cpu/latency_reducer.hpp>
#include <annulus/core/error.hpp>
#include <annulus/core/parallel.hpp>
#include <annulus/engine/integrator.hpp>

namespace annulus {

struct Integrator::Worker {
  FramePreparer preparer;
  std::unique_ptr<BatchReducer> reducer;
};

Integrator::Integrator(const Geometry& geometry, const IntegrationOptions& options,
                       const FrameProperties& frames, const PixelMaps& maps, const Recipe& recipe,
                       unsigned threads)
    : job_{std::make_shared<const Plan>(build_plan(geometry, options, maps, frames, threads)), recipe} {
  demand_sums_only(recipe, "Integrator");
  worker_.reset(new Worker{
      FramePreparer(job_),
      make_latency_reducer(make_cpu_plan(job_, threads), best_instruction_set(), resolve_threads(threads))});
}

Integrator::~Integrator() = default;

Sums Integrator::accumulate(const Frame& frame) {
  FrameResult result = join_layers(worker_->reducer->reduce(worker_->preparer.prepare(frame)));
  if (!result.good())
    throw Error(ErrorKind::kInput, describe(frame), result.error().fault(), "the frame is damaged");
  return std::move(result.sums());
}

}  // namespace annulus
