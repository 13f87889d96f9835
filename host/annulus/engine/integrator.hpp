// The short way into the library: a geometry, options, and frames one at a time.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/plan/recipe.hpp>
#include <annulus/plan/sums.hpp>

#include <memory>
#include <string>

namespace annulus {

class Integrator {
 public:
  // Throws as build_plan does, and kBackend for a recipe of more than sums.
  Integrator(const Geometry& geometry, const IntegrationOptions& options, const FrameProperties& frames,
             const PixelMaps& maps = {}, const Recipe& recipe = {}, unsigned threads = 0);
  ~Integrator();

  const Plan& plan() const { return *job_.plan; }

  // Any frame with the plan's shape and type; throws kInput if it is damaged. One thread at a time.
  Sums accumulate(const Frame& frame);

  // `factor` divides the pattern: what a monitor counted during this frame, for example.
  Pattern integrate(const Frame& frame, double factor = 1) {
    return normalise(plan(), accumulate(frame), factor);
  }

 private:
  struct Worker;
  Job job_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace annulus
