// The one place where a frame is held against a plan, and made fit for a reducer: its shape, type and
// saturation are checked, and floating point and 64-bit pixels become layers of int32.
#pragma once

#include <annulus/backends/common/backend.hpp>

#include <cstdint>
#include <vector>

namespace annulus {

// Of one job; for any number of threads.
class FramePreparer {
 public:
  explicit FramePreparer(Job job);

  // The frame itself, or its layers (codecs/quantise.hpp). Throws kInput, naming the frame, if it does not
  // belong to the plan.
  std::vector<Frame> prepare(Frame frame) const;

 private:
  Job job_;
  std::vector<std::uint8_t> used_;  // by pixel, where values are judged on the host: 1 if the plan uses it
};

// The result of a frame from those of what prepare() made of it, in the same order.
FrameResult join_layers(std::vector<FrameResult> layers);

}  // namespace annulus
