// What backends that reduce a batch in a thread share: the queues, the order, the threads.
#pragma once

#include <annulus/backends/backend.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace annulus {

// One a thread: owns the scratch memory that a batch needs.
class BatchReducer {
 public:
  virtual ~BatchReducer() = default;

  // Any number of frames; results in their order. What it throws ends the scan.
  virtual std::vector<FrameResult> reduce(const std::vector<Frame>& frames) = 0;
};

using MakeReducer = std::function<std::unique_ptr<BatchReducer>()>;

struct ThreadedSettings {
  std::string name;
  unsigned threads = 1;
  std::size_t batch_size = 1;

  // Called by load(), in the caller's thread: what all reducers share is made here. Throws if the plan cannot
  // be taken.
  std::function<MakeReducer(std::shared_ptr<const Plan>)> prepare;
};

std::unique_ptr<Backend> make_threaded_backend(ThreadedSettings settings);

}  // namespace annulus
