// What backends that reduce a batch in a thread share: the queues, the order, the threads, and the check of
// every frame against the plan.
#pragma once

#include <annulus/backends/common/backend.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace annulus {

// One per thread: owns the scratch memory that a batch needs.
class BatchReducer {
 public:
  virtual ~BatchReducer() = default;

  // Any number of frames as FramePreparer gives them; results in their order. What it throws ends the scan.
  virtual std::vector<FrameResult> reduce(const std::vector<Frame>& frames) = 0;
};

// A job that a backend has taken: how to make the reducers, how many threads shall have one, and how many
// frames each takes at once.
struct LoadedJob {
  std::function<std::unique_ptr<BatchReducer>()> make_reducer;
  unsigned threads = 1;
  std::size_t batch = 1;
  std::function<std::vector<StageTime>()> profile = {};  // none: nothing to tell
};

struct ThreadedSettings {
  std::string name;

  // Called by load(), in the caller's thread: what all reducers share is made here. The plan has its spread
  // table if the recipe needs it. Throws if the job cannot be taken.
  std::function<LoadedJob(const Job&)> prepare;

  bool any_recipe = false;  // else recipes of sums only; others are refused by name
};

std::unique_ptr<Backend> make_threaded_backend(ThreadedSettings settings);

}  // namespace annulus
