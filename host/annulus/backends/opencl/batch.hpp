// The work of one thread for a device: packs frames, sends them, runs the kernels, fetches sums. Each has a
// queue and buffers of its own, so that one sends while another's kernels run.
#pragma once

#include <annulus/backends/opencl/batch_layout.hpp>
#include <annulus/backends/opencl/bound_kernel.hpp>
#include <annulus/backends/opencl/session.hpp>
#include <annulus/core/frame.hpp>
#include <annulus/plan/sigma_clip.hpp>
#include <annulus/plan/sums.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace annulus::opencl {

struct LaneResult {
  Sums sums;
  bool faulty = false;  // its payload does not decode; no sums
};

// Whether kernels decode it; the others are decoded on the host.
bool decodes_on_device(Codec codec);

class Batch {
 public:
  // Throws kBackend if the device fails.
  explicit Batch(std::shared_ptr<const Session> session);

  // Frames of one codec that fit the plan, any number. Where the session's share of memory does not suffice,
  // fewer are taken at a time; throws kBackend if a single one has no room, or if the device fails.
  std::vector<LaneResult> reduce(std::span<const Frame* const> frames);

 private:
  std::vector<LaneResult> reduce_some(std::span<const Frame* const> frames);
  void send(std::span<const Frame* const> frames, const BatchLayout& layout);
  void unpack(const BatchLayout& layout);
  void prepare_decoding(const BatchLayout& layout);
  void decode(const BatchLayout& layout, cl_uint first, cl_uint end);
  void integrate(cl_uint frames, cl_uint first, cl_uint end);
  void clear(cl_uint frames);
  void add_up(cl_uint frames);
  std::vector<LaneResult> fetch(std::span<const Frame* const> frames);

  // Of recipes beyond sums (batch_robust.cpp).
  std::vector<LaneResult> reduce_robust(std::span<const Frame* const> frames);
  void prepare_robust(std::span<const Frame* const> frames, const RobustNumbers& robust);
  void find_ranks(const RobustNumbers& robust);
  void sum_robust(const std::vector<cl_uint>& active, const RobustNumbers& robust);
  Sums fetch_robust(const Frame& frame, cl_uint lane, cl_uint invalid);
  void send_windows(cl_uint lane, const std::vector<ClipWindow>& before,
                    const std::vector<ClipWindow>& windows);
  void fetch_outliers(const RobustNumbers& robust, std::vector<LaneResult>& results);

  void check_violations();
  std::vector<cl_uint> read_numbers(const DeviceBuffer& buffer, std::size_t count);
  void ensure(DeviceBuffer& buffer, std::uint64_t bytes, cl_mem_flags flags);
  std::string give_up();
  void fill_with_zeros(const DeviceBuffer& buffer, std::uint64_t bytes);

  struct Kernels {
    Kernels() = default;
    Kernels(const cl::Program& program, const cl::Device& device, bool is_robust);
    BoundKernel survey, join, decode, unpack, unshuffle, widen, lanes, add_sums, add_counts, rows, local;
    BoundKernel order_pixels, find_ranks, sum_robust, mark_outliers;  // of recipes beyond sums
  };
  template <typename... Args>
  void launch(const char* stage, BoundKernel& bound, cl::NDRange global, cl::NDRange local,
              const Args&... args) {
    cl::Kernel& kernel = bound.kernel;
    cl_uint index = 0;
    (kernel.setArg(index++, args), ...);
    kernel.setArg(index, violations_.get());
    queue_.enqueueNDRangeKernel(kernel, cl::NullRange, global, local, nullptr, stopwatch_.time(stage));
  }
  struct Buffers {
    DeviceBuffer staging, packed, frames, one_counts;
    DeviceBuffer table_sums, table_ends, entries, positions, values;  // of byte offset
    DeviceBuffer blocks, unpacked;                                    // of frames in blocks
    DeviceBuffer pixels, signal, variance, missing, invalid;
    DeviceBuffer results, invalid_counts, faulty;
    DeviceBuffer active, finer, windows, keys, ranks, outliers;  // of recipes beyond sums
  };

  std::shared_ptr<const Session> session_;
  cl::CommandQueue queue_;
  Kernels kernels_;
  DeviceBuffer violations_;
  Buffers buffers_;
  Stopwatch stopwatch_;
  std::uint64_t share_;           // of the device's memory
  std::uint64_t held_ = 0;        // bytes of it in the buffers above
  std::size_t at_once_ = kLanes;  // frames that have room side by side, as far as is known
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t pixel_entries_ = 0;
  cl_uint stride_ = 0;
};

}  // namespace annulus::opencl
