// A compute unit of a card: one instance of a kernel, with the plan in its memory banks.
#pragma once

#include <annulus/backends/fpga/pack_plan.hpp>
#include <annulus/core/frame.hpp>

#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

namespace annulus {

// The card does not answer, or answers nonsense. What was launched may be launched again on a new session.
class CardLost : public std::runtime_error {
 public:
  // The run that did not end, if there is one: whoever catches this keeps it until it has ended, if nobody
  // else does. XRT crashes if it is destroyed before.
  explicit CardLost(const std::string& reason, xrt::run run = {})
      : std::runtime_error(reason), run_(std::move(run)) {}

  const xrt::run& run() const { return run_; }

 private:
  xrt::run run_;
};

// Arguments of the kernels that are memory, in their order (hls/kernels.hpp).
enum class KernelMemory : int {
  kDescriptors,
  kFrames,
  kTable0,
  kTable1,
  kTable2,
  kTable3,
  kCorrections,
  kResults,
  kMissing
};

// One compute unit, with the plan in its banks.
class ComputeUnit {
 public:
  ComputeUnit(const xrt::device& device, xrt::kernel kernel, std::string name);

  // Once, before the first launch. Throws kBackend if a bank is full.
  void upload(const DevicePlan& plan);
  bool uploaded() const { return uploaded_; }

  // A buffer in the bank of an argument. Throws kBackend, naming both, if it is full.
  xrt::bo make_buffer(KernelMemory argument, std::size_t bytes) const;

  // A run with all arguments set but descriptors, frames, results, missing and the number of frames.
  xrt::run make_run(const DevicePlan& plan, Codec codec, PixelType type) const;

  // Which build of the kernels this is, by a launch of one frame without pixels. Throws CardLost if that
  // leaves no result, or one that is not right.
  std::uint64_t build_word(Codec codec, double timeout_seconds, const std::atomic<bool>& lost) const;

  // Starts the run and waits until it has ended. Throws CardLost if it fails, if the unit ends no run for so
  // long, this one or one before it, or if the card is lost meanwhile. Any number of threads may wait.
  void finish(xrt::run& run, double timeout_seconds, const std::atomic<bool>& lost);

  const std::string& name() const { return name_; }

 private:
  xrt::device device_;
  xrt::kernel kernel_;
  std::string name_;
  bool uploaded_ = false;
  std::atomic<std::chrono::steady_clock::time_point> last_end_;  // of a run
  std::array<xrt::bo, kernels::kTablePorts> table_;
  xrt::bo corrections_;
};

// Whether the run has ended, well or not.
bool has_ended(const xrt::run& run);

// What make_run leaves open.
void set_memory(xrt::run& run, KernelMemory argument, const xrt::bo& buffer);
void set_frame_count(xrt::run& run, std::uint32_t count);

// What a lost card's memory reads as.
constexpr std::int64_t kAllOnes = -1;

}  // namespace annulus
