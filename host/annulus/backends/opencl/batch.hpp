// The work of one thread for a device: packs frames, sends them, runs the kernels, fetches sums. Each has a
// queue and buffers of its own, so that one sends while another's kernels run.
#pragma once

#include <annulus/backends/opencl/batch_layout.hpp>
#include <annulus/backends/opencl/bound_kernel.hpp>
#include <annulus/backends/opencl/session.hpp>
#include <annulus/core/frame.hpp>
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
  void ensure(DeviceBuffer& buffer, std::uint64_t bytes, cl_mem_flags flags);
  std::string give_up();
  void fill_with_zeros(const DeviceBuffer& buffer, std::uint64_t bytes);

  struct Kernels {
    Kernels() = default;
    Kernels(const cl::Program& program, const cl::Device& device);
    BoundKernel survey, join, decode, unpack, unshuffle, widen, lanes, add_sums, add_counts, rows, local;
  };
  template <typename... Args>
  void launch(const char* stage, BoundKernel& bound, cl::NDRange global, cl::NDRange local,
              const Args&... args);
  struct Buffers {
    DeviceBuffer staging, packed, frames, one_counts;
    DeviceBuffer table_sums, table_ends, entries, positions, values;  // of byte offset
    DeviceBuffer blocks, unpacked;                                    // of frames in blocks
    DeviceBuffer pixels, signal, variance, missing, invalid;
    DeviceBuffer results, invalid_counts, faulty;
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
