// An OpenCL device that filters and back-projects some bins of a sinogram at a time, by the direct method
// (kernels/*.cl).
#pragma once

#include <annulus/backends/opencl/bound_kernel.hpp>
#include <annulus/backends/opencl/device_memory.hpp>
#include <annulus/backends/opencl/devices.hpp>
#include <annulus/tomography/direct_setup.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace annulus::opencl {

// Bins that a work-item computes: so many vectors of so many floats. A power of two, up to 64.
struct ItemLanes {
  std::size_t width, vectors;
  std::size_t count() const { return width * vectors; }
};

struct ProjectorSettings {
  std::uint64_t memory = 0;   // bytes of the device to use; 0: all
  bool check_bounds = false;  // kernels that look at every index

  // For tests: as other devices and drivers have it.
  std::optional<bool> unified = {};  // whether device and host share memory
  std::optional<ItemLanes> lanes = {};
  std::uint64_t table_bytes = std::uint64_t{32} << 20U;  // where pixels of a band of rows lie
  std::string preamble = {};                             // before the kernels
  std::string build_options = {};
};

class Projector {
 public:
  // Compiles the kernels, checks how the device computes and takes all memory that it will need. Throws
  // kBackend: a device without double precision or with other arithmetic, no room for even a few bins.
  Projector(Device device, const ScanGeometry& scan, const DirectSetup& setup, std::size_t size,
            const ProjectorSettings& settings);

  // At a time.
  std::size_t bins() const { return bins_; }

  // Bytes of the host's memory that its buffers take.
  std::uint64_t host_bytes() const { return unified_ ? memory_->limit() - memory_->left() : 0; }

  // At most bins(). Any thread may call it; one at a time is served. Throws kBackend if the device fails.
  void reconstruct(const SinogramView& sinogram, const TomogramView& tomogram);

 private:
  void build(const DirectSetup& setup, const ProjectorSettings& settings);
  void divide(const DirectSetup& setup, std::uint64_t table_bytes);
  void allocate(const DirectSetup& setup);
  void check_bounds();
  DeviceBuffer upload(const void* data, std::uint64_t bytes);
  template <typename... Args>
  void launch(BoundKernel& bound, std::size_t items, std::size_t rows, const Args&... args);

  Device device_;
  std::size_t angles_, positions_, size_;
  std::size_t values_, taps_;  // of a filtered projection, and those of them that a pixel takes
  std::size_t reach_, tap_count_;
  std::ptrdiff_t first_;  // position of the first value
  double origin_;         // the place of the centre among the values
  ItemLanes lanes_ = {};
  bool unified_ = false;
  std::size_t bins_ = 0, rows_ = 0, some_angles_ = 0;  // at a time

  cl::Context context_;
  cl::CommandQueue queue_;
  std::shared_ptr<DeviceMemory> memory_;
  BoundKernel filter_, place_, back_project_;
  DeviceBuffer filter_taps_, cosines_, sines_, spans_, kernel_table_;
  DeviceBuffer sinogram_, filtered_, firsts_, shares_, tomogram_, violations_;
  std::mutex mutex_;
};

}  // namespace annulus::opencl
