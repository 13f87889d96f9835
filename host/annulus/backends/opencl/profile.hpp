// Where the time of a device goes: transfers, stages of decoding, integration, as its own clock says.
#pragma once

#include <annulus/backends/opencl/api.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace annulus::opencl {

struct StageTotal {
  std::string name;
  std::uint64_t calls = 0;
  double seconds = 0;
  std::uint64_t bytes = 0;  // of transfers
};

// Shared by the threads of all devices.
class Profile {
 public:
  void add(const std::string& stage, double seconds, std::uint64_t bytes = 0);

  void reset();

  // In the order of the frame's way.
  std::vector<StageTotal> totals() const;

 private:
  mutable std::mutex mutex_;
  std::vector<StageTotal> totals_;
};

// Commands of one queue whose times are wanted once they are done. Without a profile nothing is kept.
class Stopwatch {
 public:
  explicit Stopwatch(Profile* profile) : profile_(profile) {}

  bool running() const { return profile_ != nullptr; }

  // Where a command of this stage leaves its event; nullptr if nobody wants it.
  cl::Event* time(const char* stage, std::uint64_t bytes = 0);
  void add_host_time(const char* stage, double seconds, std::uint64_t bytes);

  // After the queue has finished.
  void read();

  // Instead of read(), after a fault: a command that failed has left no event.
  void discard() { timed_.clear(); }

 private:
  struct Timed {
    const char* stage;
    std::uint64_t bytes;
    cl::Event event;
  };
  Profile* profile_;
  std::vector<std::unique_ptr<Timed>> timed_;
};

}  // namespace annulus::opencl
