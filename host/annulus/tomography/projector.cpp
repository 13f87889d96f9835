#include <annulus/backends/opencl/device_fault.hpp>
#include <annulus/backends/opencl/program.hpp>
#include <annulus/tomography/device_arithmetic.hpp>
#include <annulus/tomography/gridding_kernel.hpp>
#include <annulus/tomography/projector.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

namespace annulus::opencl {

// Of kernels/*.cl, made by CMake.
const std::string& back_projection_source();

namespace {

constexpr const char* kOtherWay = "choose another device, or take the direct way";

// Bins at a time. Where memory is the host's, no more than the direct method has on the CPU.
constexpr std::size_t kMostBins = 256;

// Angles at a time.
constexpr std::size_t kSomeAngles = 64;

// Work-items of a group; no kernel depends on it.
constexpr std::size_t kGroup = 64;

// What buffers are rounded up by, all together.
constexpr std::uint64_t kSmallBuffers = 8192;

// CPUs have vectors, and need several chains of additions at a time to be busy. GPUs have many work-items
// instead, and say that their vectors are of one number; but they load four at once.
ItemLanes lanes_of(const cl::Device& device) {
  const std::size_t width = device.getInfo<CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT>();
  if ((device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_CPU) == 0) return {4, 1};
  return {width >= 16 ? 16U : (width >= 8 ? 8U : 4U), 4};
}

}  // namespace

Projector::Projector(Device device, const ScanGeometry& scan, const DirectSetup& setup, std::size_t size,
                     const ProjectorSettings& settings)
    : device_(std::move(device)),
      angles_(scan.angles.size()),
      positions_(scan.positions),
      size_(size),
      values_(setup.projection_count()),
      taps_(setup.band_limited ? kBandTaps : 2),
      reach_(setup.reach),
      tap_count_(angles_ * setup.taps.size() * (2 * reach_ + 1)),
      first_(setup.range.first),
      origin_(setup.turns.origin(setup.range)) {
  on_device(device_, [&] {
    if (device_.device.getInfo<CL_DEVICE_DOUBLE_FP_CONFIG>() == 0)
      throw device_fault(device_, "it has no double precision, which places of pixels need", kOtherWay);
    unified_ = settings.unified.value_or(device_.device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>() != 0);
    lanes_ = settings.lanes.value_or(lanes_of(device_.device));
    context_ = cl::Context(device_.device);
    queue_ = cl::CommandQueue(context_, device_.device);
    memory_ = std::make_shared<DeviceMemory>(context_, device_.device, settings.memory);
    some_angles_ = std::min(angles_, kSomeAngles);
    divide(setup, settings.table_bytes);
    build(setup, settings);
    allocate(setup);
  });
}

void Projector::build(const DirectSetup& setup, const ProjectorSettings& settings) {
  const std::string options = fmt::format(
      "-cl-std=CL1.2 -w -D WIDTH={} -D VECTORS={} -D TAPS={} -D TAP_STEP={} -D PHASES={} -D TABLE_STEPS={}{} "
      "{}",
      lanes_.width, lanes_.vectors, taps_, setup.odd_taps ? 2 : 1, setup.taps.size(), GriddingKernel::kSteps,
      settings.check_bounds ? " -D CHECK_BOUNDS" : "", settings.build_options);
  const cl::Program program =
      build_program(context_, device_, settings.preamble + back_projection_source(), options);
  check_arithmetic(device_, program, queue_, memory_);
  filter_ = BoundKernel(program, "filter_projections", device_.device);
  place_ = BoundKernel(program, "place_pixels", device_.device);
  back_project_ = BoundKernel(program, "back_project", device_.device);
}

// As many bins at a time as have room beside at least one row of pixels.
void Projector::divide(const DirectSetup& setup, std::uint64_t table_bytes) {
  const std::uint64_t fixed = kSmallBuffers + setup.kernel.size() * sizeof(float) +
                              size_ * 2 * sizeof(cl_uint) + angles_ * 2 * sizeof(double) +
                              tap_count_ * sizeof(float);
  const std::uint64_t table = size_ * some_angles_ * (sizeof(cl_uint) + taps_ * sizeof(float));  // of a row
  const std::uint64_t cells = angles_ * std::max(positions_, values_) * sizeof(float);           // of a bin
  const std::uint64_t both = angles_ * (positions_ + values_) * sizeof(float);
  const std::uint64_t limit = memory_->limit(), largest = memory_->largest_buffer();
  for (bins_ = std::max(unified_ ? kBinLanes : kMostBins, lanes_.count()); bins_ >= lanes_.count();
       bins_ /= 2) {
    const std::uint64_t row = size_ * bins_ * sizeof(float);
    const std::uint64_t needed = fixed + bins_ * both;
    if (bins_ * cells > largest || needed > limit) continue;
    // The table's larger part are the shares.
    const std::uint64_t rows = std::min({(limit - needed) / (table + row), largest / std::max(table, row),
                                         std::max<std::uint64_t>(table_bytes / table, 1)});
    rows_ = static_cast<std::size_t>(std::min<std::uint64_t>(rows, size_));
    if (rows_ > 0) return;
  }
  const std::uint64_t least = fixed + lanes_.count() * (both + size_ * sizeof(float)) + table;
  throw device_fault(
      device_,
      fmt::format("{} bins take {} bytes, the largest buffer {}; it has {}, at most {} a buffer",
                  lanes_.count(), least, std::max(lanes_.count() * cells, table), limit, largest),
      "raise `device_memory` if that is given, choose a device with more memory, or take the direct way");
}

DeviceBuffer Projector::upload(const void* data, std::uint64_t bytes) {
  DeviceBuffer buffer = memory_->allocate(bytes, CL_MEM_READ_ONLY);
  if (bytes > 0) queue_.enqueueWriteBuffer(buffer.get(), CL_TRUE, 0, bytes, data);
  return buffer;
}

void Projector::allocate(const DirectSetup& setup) {
  std::vector<float> taps, scaled;
  for (const double weight : setup.weights) {
    for (const Taps& each : setup.taps) {
      each.scaled(weight / 2, scaled);
      taps.insert(taps.end(), scaled.begin(), scaled.end());
    }
  }
  const Circle circle(size_);
  std::vector<cl_uint> spans;
  for (std::size_t y = 0; y < size_; ++y) {
    spans.push_back(static_cast<cl_uint>(circle.row(y).begin));
    spans.push_back(static_cast<cl_uint>(circle.row(y).end));
  }
  filter_taps_ = upload(taps.data(), taps.size() * sizeof(float));
  cosines_ = upload(setup.turns.cosines.data(), angles_ * sizeof(double));
  sines_ = upload(setup.turns.sines.data(), angles_ * sizeof(double));
  spans_ = upload(spans.data(), spans.size() * sizeof(cl_uint));
  kernel_table_ = upload(setup.kernel.data(), setup.kernel.size() * sizeof(float));
  const cl_uint none = 0;
  violations_ = upload(&none, sizeof(none));
  const std::uint64_t pixels = rows_ * size_;
  sinogram_ = memory_->allocate(angles_ * positions_ * bins_ * sizeof(float), CL_MEM_READ_ONLY);
  filtered_ = memory_->allocate(angles_ * values_ * bins_ * sizeof(float), CL_MEM_READ_WRITE);
  firsts_ = memory_->allocate(pixels * some_angles_ * sizeof(cl_uint), CL_MEM_READ_WRITE);
  shares_ = memory_->allocate(pixels * some_angles_ * taps_ * sizeof(float), CL_MEM_READ_WRITE);
  tomogram_ = memory_->allocate(pixels * bins_ * sizeof(float), CL_MEM_READ_WRITE);
  // Lanes without a bin are computed, too.
  queue_.enqueueFillBuffer(sinogram_.get(), cl_uint{0}, 0, angles_ * positions_ * bins_ * sizeof(float));
  queue_.finish();
}

template <typename... Args>
void Projector::launch(BoundKernel& bound, std::size_t items, std::size_t rows, const Args&... args) {
  cl_uint index = 0;
  (bound.kernel.setArg(index++, args), ...);
  bound.kernel.setArg(index, violations_.get());
  const std::size_t group = bound.group(kGroup);
  queue_.enqueueNDRangeKernel(bound.kernel, cl::NullRange,
                              cl::NDRange((items + group - 1) / group * group, rows), cl::NDRange(group, 1));
}

void Projector::reconstruct(const SinogramView& sinogram, const TomogramView& tomogram) {
  const std::lock_guard lock(mutex_);
  const auto size = static_cast<cl_uint>(size_), bins = static_cast<cl_uint>(bins_),
             values = static_cast<cl_uint>(values_);
  const std::size_t items = (sinogram.bins + lanes_.count() - 1) / lanes_.count();  // of a value, of a pixel
  const std::array<std::size_t, 3> origin = {0, 0, 0};
  on_device(device_, [&] {
    // Transfers wait: none may be under way when a later command fails and the caller frees its memory.
    queue_.enqueueWriteBufferRect(
        sinogram_.get(), CL_TRUE, origin, origin, {sinogram.bins * sizeof(float), angles_ * positions_, 1},
        bins_ * sizeof(float), 0, sinogram.stride * sizeof(float), 0, sinogram.values);
    launch(filter_, values_ * items, angles_, sinogram_.get(), cl_ulong{angles_ * positions_ * bins_},
           static_cast<cl_uint>(positions_), filter_taps_.get(), cl_ulong{tap_count_},
           static_cast<cl_uint>(reach_), static_cast<cl_int>(first_), values, bins,
           static_cast<cl_uint>(items), filtered_.get(), cl_ulong{angles_ * values_ * bins_});
    for (std::size_t top = 0; top < size_; top += rows_) {
      const std::size_t pixels = std::min(rows_, size_ - top) * size_;
      const auto band_top = static_cast<cl_uint>(top), band_pixels = static_cast<cl_uint>(pixels);
      for (std::size_t angle = 0; angle < angles_; angle += some_angles_) {
        const auto first = static_cast<cl_uint>(angle),
                   some = static_cast<cl_uint>(std::min(some_angles_, angles_ - angle));
        launch(place_, some, pixels, cl_double{origin_}, cosines_.get(), sines_.get(),
               static_cast<cl_uint>(angles_), first, some, size, band_top, band_pixels, spans_.get(),
               kernel_table_.get(), firsts_.get(), shares_.get());
        launch(back_project_, pixels * items, 1, filtered_.get(), cl_ulong{angles_ * values_ * bins_}, values,
               first, some, bins, static_cast<cl_uint>(items), size, band_top, band_pixels, spans_.get(),
               firsts_.get(), shares_.get(), tomogram_.get());
      }
      queue_.enqueueReadBufferRect(tomogram_.get(), CL_TRUE, origin, origin,
                                   {sinogram.bins * sizeof(float), pixels, 1}, bins_ * sizeof(float), 0,
                                   tomogram.stride * sizeof(float), 0, tomogram.at(top, 0));
    }
    check_bounds();
  });
}

void Projector::check_bounds() {
  cl_uint violations = 0;
  queue_.enqueueReadBuffer(violations_.get(), CL_TRUE, 0, sizeof(cl_uint), &violations);
  if (violations == 0) return;
  throw device_fault(device_, fmt::format("kernels left the bounds of their arrays {} times", violations),
                     "this is a fault of the kernels: please report it");
}

}  // namespace annulus::opencl
