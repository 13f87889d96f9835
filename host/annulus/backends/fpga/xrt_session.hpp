// What is on a card from one load of its xclbin to the next: compute units, the plan, buffers.
#pragma once

#include <annulus/backends/fpga/xrt_launch_slot.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace annulus {

class XrtSession {
 public:
  // The compute units of the xclbin that was just loaded. Throws kBackend if they are not those of this
  // program, or CardLost.
  XrtSession(const xrt::device& device, std::string xclbin, double timeout_seconds);

  // Compute units of the kernel for a codec: named kernel_1, kernel_2 and so on.
  std::size_t units(Codec codec) const {
    const auto found = units_.find(codec);
    return found == units_.end() ? 0 : found->second.size();
  }

  // Puts the plan into the memory of all units for a codec. Throws kBackend if the xclbin has none, or no
  // memory is left.
  void upload(Codec codec, const DevicePlan& plan);

  // The buffers of thread `number` for frames of a codec, on one of the units; one plan and type a session.
  // Throws kBackend if the xclbin has no kernel for them, or no memory is left.
  LaunchSlot& slot(Codec codec, PixelType type, std::size_t number, const DevicePlan& plan);

  // Whether a launch of a thread that gave up still runs or waits for its turn.
  bool busy() const;

  std::atomic<bool> lost = false;  // whoever waits for the card should stop

 private:
  using Units = std::vector<std::unique_ptr<ComputeUnit>>;

  const Units& needed_units(Codec codec) const;
  ComputeUnit& unit(Codec codec, std::size_t number, const DevicePlan& plan);

  const std::string xclbin_;
  std::map<Codec, Units> units_;  // of those kernels that the xclbin has
  mutable std::mutex mutex_;
  std::map<std::pair<Codec, std::size_t>, std::unique_ptr<LaunchSlot>> slots_;
};

}  // namespace annulus
