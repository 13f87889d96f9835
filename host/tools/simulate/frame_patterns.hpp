// What a sample scatters, frame by frame and without noise: of this a scan makes detector frames.
#pragma once

#include <cstdint>
#include <vector>

namespace annulus {

// Everything is a function of x = sin(theta), which a pixel has without trigonometry and in which a ring of
// spacing d lies at lambda / 2d. May be used from several threads at once.
class FramePatterns {
 public:
  virtual ~FramePatterns() = default;

  virtual double expected(double x, std::uint64_t frame) const = 0;

  // The same at the nodes of node_grid(), to be interpolated.
  virtual std::vector<float> table(std::uint64_t frame) const = 0;
};

}  // namespace annulus
