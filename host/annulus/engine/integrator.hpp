// The short way into the library: a geometry, options, and frames one at a time.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/plan/pattern.hpp>
#include <annulus/plan/plan.hpp>

#include <memory>
#include <string>

namespace annulus {

class Integrator {
 public:
  // Throws as build_plan does.
  Integrator(const Geometry& geometry, const IntegrationOptions& options, const FrameProperties& frames,
             const PixelMaps& maps = {}, unsigned threads = 0);
  ~Integrator();

  const Plan& plan() const { return *plan_; }

  // Any frame with the plan's shape and type; throws kInput if it is damaged. One thread at a time.
  Accumulators accumulate(const Frame& frame);
  Pattern integrate(const Frame& frame) { return normalise(*plan_, accumulate(frame)); }

 private:
  struct Worker;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace annulus
