// One way to run the cpu backend over frames in memory, and how long it takes.
#pragma once

#include <annulus/backends/registry.hpp>
#include <annulus/core/instruction_set.hpp>

#include <tools/bench/measure.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace annulus {

// A job with frames in memory for it.
struct Workload {
  Job job;
  std::vector<Frame> frames;

  // Sums of the first frame as the first candidate had them: all others must have the same.
  std::shared_ptr<Sums> expected = std::make_shared<Sums>();
};

struct BackendCase {
  InstructionSet instruction_set = InstructionSet::kGeneric;
  unsigned threads = 1;
  unsigned batch = 0;  // 0: what suits

  BackendOptions options() const;

  // A new backend, plan loaded, every thread warm.
  std::unique_ptr<Backend> start(const Workload& workload) const;

  bool operator==(const BackendCase&) const = default;
};

// As many frames as are in memory, and at least a few batches for each thread; then frames are repeated.
Work work_of(const BackendCase& backend_case, const Workload& workload);

// Starts a backend and appends the time it takes for these frames. Throws if a frame is bad or if sums are
// not those of other cases.
void time_backend(const BackendCase& backend_case, const Workload& workload, std::uint64_t frames,
                  std::vector<double>& seconds);

// Throws what a result has to say against itself, or against the other cases.
void demand_good(const FrameResult& result, const Frame& frame);
void demand_expected(const FrameResult& first, const Workload& workload);

}  // namespace annulus
