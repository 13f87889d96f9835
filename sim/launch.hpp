// How the kernels run in software: one launch is one call of a kernel top.
//
//   annulus_sim::Launch launch(annulus_sim::Mode::kConcurrent);
//   launch.run([&] { reduce_raw(...); });
//   launch.report();  // iterations of every stage, traffic of every stream
//
// Sequential: stages run one after the other, each to its end. Concurrent: each stage has a thread and
// streams are bounded, as in hardware. In both, data left in a stream at the end is an error.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace annulus_sim {

enum class Mode { kSequential, kConcurrent };

// A kernel broke the protocol of its streams. Never the fault of a frame.
class SimulationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a stage did, one after the other, if the launch records it: kIterates, or reads_stream(i) or
// writes_stream(i) of the i-th stream.
using Step = std::uint8_t;
constexpr Step kIterates = 0;
constexpr Step reads_stream(std::size_t i) { return static_cast<Step>(2 * i + 1); }
constexpr Step writes_stream(std::size_t i) { return static_cast<Step>(2 * i + 2); }

struct StageReport {
  std::string name;
  std::uint64_t iterations = 0;  // of its pipelined loops: clocks, at an initiation interval of 1
  std::vector<Step> steps;
};

struct StreamTraffic {
  std::string name;
  std::size_t depth = 0;
  std::uint64_t writes = 0;
  std::uint64_t reads = 0;
  std::size_t high_water = 0;  // most elements it held at once
};

struct LaunchReport {
  std::vector<StageReport> stages;
  std::vector<StreamTraffic> streams;  // in the order of their declaration
};

class Stage;
class LaunchState;

class Launch {
 public:
  // A stage that waits this long for one stream is stuck, even if others still iterate.
  static constexpr std::chrono::seconds kPatience{60};

  explicit Launch(Mode mode, std::chrono::milliseconds patience = kPatience);
  ~Launch();

  // For tests: all streams get this depth, whatever their pragmas say. 0: the declared ones.
  void force_depth(std::size_t depth);
  // The same for one stream.
  void force_depth(const std::string& stream, std::size_t depth);

  // The report will have the steps of every stage: a byte for each, of which a large frame has millions.
  void record_steps();

  // Throws SimulationError, or what a stage threw.
  void run(const std::function<void()>& kernel);

  const LaunchReport& report() const;

 private:
  std::unique_ptr<LaunchState> state_;
};

// What a stream is without its elements.
class StreamState {
 public:
  explicit StreamState(const char* name);
  ~StreamState();

  void set_depth(std::size_t depth);
  void set_name(const std::string& name) { traffic_.name = name; }
  StreamTraffic traffic() const { return traffic_; }

 protected:
  // Holds the launch's lock, where there is one, while an element moves; tells the other side afterwards.
  class Turn {
   public:
    Turn(StreamState& stream, std::unique_lock<std::mutex> lock) : stream_(stream), lock_(std::move(lock)) {}
    ~Turn();
    Turn(Turn&&) = default;

   private:
    StreamState& stream_;
    std::unique_lock<std::mutex> lock_;
  };

  std::unique_lock<std::mutex> lock_if_concurrent() const;
  Turn wait_to_read();
  Turn wait_to_write();

 private:
  friend class LaunchState;

  std::size_t held() const { return static_cast<std::size_t>(traffic_.writes - traffic_.reads); }
  void claim(const Stage*& owner, const char* role);
  void record(Step step) const;
  void wait(std::unique_lock<std::mutex>& lock, bool& waiting, bool to_read);

  LaunchState* launch_;
  std::size_t number_ = 0;  // in the order of declaration
  StreamTraffic traffic_;
  const Stage* writer_ = nullptr;
  const Stage* reader_ = nullptr;
  bool reader_waits_ = false;
  bool writer_waits_ = false;
  std::condition_variable changed_;
};

// What sim/instrument writes into the kernels' copy.

// Where a PIPELINE pragma stands: one more iteration of the running stage.
void count_iteration();

// Where a STREAM pragma stands: of a stream, or of an array of streams, which get the names name[0], name[1]
// and so on.
template <typename Stream>
void declare(Stream& stream, const char*, std::size_t depth) {
  stream.set_depth(depth);
}
template <typename Stream, std::size_t kCount>
void declare(Stream (&streams)[kCount], const char* name, std::size_t depth) {
  for (std::size_t i = 0; i < kCount; ++i) {
    streams[i].set_name(std::string(name) + "[" + std::to_string(i) + "]");
    streams[i].set_depth(depth);
  }
}

// Around the call of a stage, and at the end of a top.
void stage(const char* name, std::function<void()> body);
void finish_stages();

// On-chip memory: one a thread and place, on the heap, and full of rubbish at first, as in hardware.
template <typename Array, int kPlace>
Array& on_chip() {
  struct Memory {
    Array array;
  };
  thread_local const std::unique_ptr<Memory> memory(new Memory);
  std::memset(memory.get(), 0xA5, sizeof(Memory));
  return memory->array;
}

}  // namespace annulus_sim
