// The CPU's way to reduce a batch of frames: band by band, several frames side by side, so that no decoded
// frame is ever written to memory and the plan is streamed once for all of them.
#pragma once

#include <annulus/backends/common/threaded_backend.hpp>
#include <annulus/backends/cpu/lane_sums.hpp>
#include <annulus/codecs/band_decoder.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace annulus {

// A job with the form of its plan for the CPU; shared by all threads.
struct CpuPlan {
  Job job;
  BandedPlan banded;
};
std::shared_ptr<const CpuPlan> make_cpu_plan(const Job& job, unsigned threads);

// Frames of a batch that suit an instruction set, and of one that suits a plan too: the sums of a batch take
// memory in proportion to its frames and the bins, in every thread.
std::size_t cpu_batch_size(InstructionSet set);
std::size_t cpu_batch_size(InstructionSet set, const Job& job);

// Makes what is done with the bands of frames that these kernels take side by side.
using MakeOperator = std::function<std::unique_ptr<BandOperator>(const CpuPlan&, const LaneKernels&)>;

// One per thread: owns the scratch memory that a batch needs.
class CpuReducer final : public BatchReducer {
 public:
  // Without an operator: what the recipe asks for.
  CpuReducer(std::shared_ptr<const CpuPlan> plan, InstructionSet set, MakeOperator make_operator = {});

  // Any number of frames; results in their order.
  std::vector<FrameResult> reduce(const std::vector<Frame>& frames) override;

 private:
  // Frames that share vectors.
  struct Group {
    BandOperator* bands;
    const LaneKernels* kernels;
    std::size_t first;  // frame of the first lane
    std::size_t count;
  };

  std::vector<Group> make_groups(std::size_t frames);
  const LaneKernels& kernels_for(std::size_t frames) const;
  void pass(const std::vector<Group>& groups, const std::vector<Frame>& frames,
            std::vector<FrameResult>& results);
  void decode_band(std::size_t band, const Group& group, const std::vector<Frame>& frames,
                   std::vector<FrameResult>& results);
  void fail(const Frame& frame, std::size_t place, std::vector<FrameResult>& results);

  std::shared_ptr<const CpuPlan> plan_;
  const InstructionSet set_;
  const LaneKernels& kernels_;
  const MakeOperator make_operator_;
  // Take memory in proportion to bins and lanes: made once and used for every batch.
  std::map<const LaneKernels*, std::vector<std::unique_ptr<BandOperator>>> operators_;
  std::vector<std::optional<BandDecoder>> decoders_;  // by frame; none where there is a fault
  // In LargeVectors, because vectors that straddle cache lines are loaded and stored in two steps.
  LargeVector<std::int32_t> rows_;    // a few pixels of each lane, as decoded
  LargeVector<std::int32_t> values_;  // of a band, lanes side by side
};

}  // namespace annulus
