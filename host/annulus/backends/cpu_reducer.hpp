// The CPU's way to reduce a batch of frames: band by band, several frames side by side.
#pragma once

#include <annulus/backends/threaded_backend.hpp>

#include <memory>
#include <vector>

namespace annulus {

// Frames that are reduced side by side. The plan is streamed from memory once for all of them.
constexpr std::size_t kCpuLanes = 8;

// Pixels of one band: with kCpuLanes frames its values fit the first-level cache.
constexpr std::size_t kCpuBand = 1024;

// One a thread: owns the scratch memory that a batch needs.
class CpuReducer final : public BatchReducer {
 public:
  explicit CpuReducer(std::shared_ptr<const Plan> plan);
  ~CpuReducer() override;

  // Any number of frames; results in their order.
  std::vector<FrameResult> reduce(const std::vector<Frame>& frames) override;

 private:
  struct Scratch;

  template <std::size_t kLanes, bool kUnsigned, bool kVariance>
  void reduce_lanes(const Frame* frames, std::size_t count, FrameResult* results);
  template <std::size_t kLanes>
  void reduce_group(const Frame* frames, std::size_t count, FrameResult* results);

  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace annulus
