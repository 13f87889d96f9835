#include <annulus/backends/opencl/profile.hpp>

#include <algorithm>
#include <memory>

namespace annulus::opencl {

void Profile::add(const std::string& stage, double seconds, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto found =
      std::find_if(totals_.begin(), totals_.end(), [&](const auto& total) { return total.name == stage; });
  if (found == totals_.end()) found = totals_.insert(totals_.end(), StageTotal{stage});
  ++found->calls;
  found->seconds += seconds;
  found->bytes += bytes;
}

void Profile::reset() {
  const std::lock_guard lock(mutex_);
  totals_.clear();
}

std::vector<StageTotal> Profile::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

cl::Event* Stopwatch::time(const char* stage, std::uint64_t bytes) {
  if (!running()) return nullptr;
  timed_.push_back(std::make_unique<Timed>(Timed{stage, bytes, {}}));
  return &timed_.back()->event;
}

void Stopwatch::add_host_time(const char* stage, double seconds, std::uint64_t bytes) {
  if (running()) profile_->add(stage, seconds, bytes);
}

void Stopwatch::read() {
  for (const auto& timed : timed_) {
    const auto start = timed->event.getProfilingInfo<CL_PROFILING_COMMAND_START>();
    const auto end = timed->event.getProfilingInfo<CL_PROFILING_COMMAND_END>();
    profile_->add(timed->stage, static_cast<double>(end - start) * 1e-9, timed->bytes);
  }
  timed_.clear();
}

}  // namespace annulus::opencl
