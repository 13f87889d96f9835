// What reduces frames: load a plan, then submit batches and collect their results in the same order.
#pragma once

#include <annulus/core/frame.hpp>
#include <annulus/core/instruction_set.hpp>
#include <annulus/plan/accumulators.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace annulus {

// A frame that could not be reduced has a fault and no sums; the frames around it are not affected.
struct FrameResult {
  std::uint64_t index = 0;
  Accumulators accumulators;
  std::string fault;  // empty: the frame is good

  bool good() const { return fault.empty(); }
};

// Where time goes inside a backend, added up over a scan.
struct StageTime {
  std::string name;
  std::uint64_t calls = 0;
  double seconds = 0;
  std::uint64_t bytes = 0;  // of transfers; else 0
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Before the first submit, and again only when everything submitted was collected.
  virtual void load(std::shared_ptr<const Plan> plan) = 0;

  // Takes the frames and returns; blocks while the backend holds as many batches as it can.
  // Frames must have the plan's shape and an integer type up to 32 bits; one whose payload is not intact()
  // after it was reduced gets a fault. One thread submits.
  virtual void submit(std::vector<Frame> batch) = 0;

  // No more batches will come: collect() returns an empty vector after the last.
  virtual void finish() = 0;

  // Waits for the oldest batch not yet collected; its results in frame order. One thread collects.
  virtual std::vector<FrameResult> collect() = 0;

  // The number of frames that fill one batch, which may depend on the plan, and of batches that it holds at
  // most.
  virtual std::size_t batch_size() const = 0;
  virtual std::size_t capacity() const = 0;

  // Time spent decoding and integrating, added up over threads or compute units.
  virtual double busy_seconds() const = 0;

  // Empty unless BackendOptions asked for it.
  virtual std::vector<StageTime> profile() const { return {}; }
};

struct BackendOptions {
  unsigned threads = 0;  // 0: all of the machine

  // Of the cpu backend.
  std::optional<InstructionSet> instruction_set = {};  // none: the fastest that the machine has
  unsigned batch = 0;    // frames reduced side by side; 0: what suits the machine
  bool latency = false;  // all threads share one frame: the first pattern comes sooner, a scan takes longer

  // Of the xrt and opencl backends.
  std::string device = "0";  // xrt: index of the card, or its PCIe address; opencl: see opencl/devices.hpp

  // Of the opencl backend.
  std::uint64_t device_memory = 0;     // MiB of a device to use; 0: all
  std::string opencl_kernel = "auto";  // how to integrate: lanes, rows, local; auto: the fastest, as measured
  bool profile = false;                // measure what stages take

  // Of the xrt backend.
  std::string xclbin = {};       // the kernels for it
  bool retry_device = false;     // reopen a lost card, once, and go on with the frames it had
  double device_timeout = 60.0;  // seconds after which a launch that does not end means that the card is lost
};

// A line on what a backend is and whether it can run here.
struct BackendDescription {
  std::string name;
  bool available = false;
  std::string detail;
  std::vector<std::string> devices = {};  // a line for each, where a backend has several
};

}  // namespace annulus
