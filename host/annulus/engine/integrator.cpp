#include <annulus/backends/cpu_reducer.hpp>
#include <annulus/core/error.hpp>
#include <annulus/engine/integrator.hpp>
#include <annulus/engine/prepare.hpp>

namespace annulus {

struct Integrator::Worker {
  CpuReducer reducer;
};

Integrator::Integrator(const Geometry& geometry, const IntegrationOptions& options,
                       const FrameProperties& frames, const PixelMaps& maps, unsigned threads)
    : plan_(std::make_shared<const Plan>(build_plan(geometry, options, maps, frames, threads))),
      worker_(new Worker{CpuReducer(plan_)}) {}

Integrator::~Integrator() = default;

Accumulators Integrator::accumulate(const Frame& frame) {
  FrameResult result = std::move(worker_->reducer.reduce({prepare_frame(*plan_, frame)}).front());
  if (!result.good()) throw Error(ErrorKind::kInput, describe(frame), result.fault, "the frame is damaged");
  return std::move(result.accumulators);
}

}  // namespace annulus
