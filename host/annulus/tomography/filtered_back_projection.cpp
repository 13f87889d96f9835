#include <annulus/backends/opencl/opencl_options.hpp>
#include <annulus/core/error.hpp>
#include <annulus/tomography/fbp_method.hpp>
#include <annulus/tomography/filtered_back_projection.hpp>
#include <annulus/tomography/lane_loops.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace annulus {
namespace {

FbpWay chosen_way(const ScanGeometry& scan, const FbpOptions& options) {
  if (options.interpolation == Interpolation::kLinear) {
    if (options.way == FbpWay::kFourier) {
      throw Error(ErrorKind::kUsage, "`way`", "Fourier transforms cannot interpolate linearly",
                  "take the direct way, or band-limited interpolation");
    }
    return options.way.value_or(FbpWay::kDirect);
  }
  return options.way.value_or(scan.positions < kFourierFrom ? FbpWay::kDirect : FbpWay::kFourier);
}

void refuse_device_options(const FbpOptions& options, FbpWay way) {
  const FbpOptions unset;
  const auto refuse = [&](const char* option) {
    throw Error(ErrorKind::kUsage, option, fmt::format("it means nothing to the {} way", name_of(way)),
                "leave it out, or take the way opencl");
  };
  if (options.device != unset.device) refuse("`device`");
  if (options.device_memory != unset.device_memory) refuse("`device_memory`");
}

std::unique_ptr<const FbpMethod> make_method(const ScanGeometry& scan, const FbpOptions& options,
                                             std::size_t size, FbpWay way) {
  if (way == FbpWay::kOpenCl) {
    OpenClOptions limits;
    limits.device_memory = options.device_memory;
    check(limits);
    return make_opencl_method(scan, options, size);
  }
  refuse_device_options(options, way);
  return way == FbpWay::kDirect ? make_direct_method(scan, options, size)
                                : make_fourier_method(scan, options, size);
}

void clear_outside(const TomogramView& tomogram) {
  const Circle circle(tomogram.size);
  for (std::size_t y = 0; y < tomogram.size; ++y) {
    const Circle::Span span = circle.row(y);
    for (std::size_t x = 0; x < tomogram.size; ++x) {
      if (x < span.begin || x >= span.end) std::fill_n(tomogram.at(y, x), tomogram.bins, 0.0F);
    }
  }
}

}  // namespace

std::size_t BlockMemory::bins_within(std::uint64_t bytes, std::size_t bins) const {
  if (bytes < fixed || bytes - fixed < per_bin) {
    throw Error(ErrorKind::kUsage, "`memory`",
                fmt::format("{} bytes are not enough to reconstruct even one bin", bytes),
                fmt::format("give {} bytes or more", fixed + per_bin));
  }
  const std::uint64_t fitting = (bytes - fixed) / per_bin;
  if (fitting >= bins) return bins;
  const auto count = static_cast<std::size_t>(fitting);
  return count < kBinLanes ? count : count / kBinLanes * kBinLanes;
}

std::string_view name_of(FbpWay way) {
  switch (way) {
    case FbpWay::kDirect:
      return "direct";
    case FbpWay::kFourier:
      return "fourier";
    case FbpWay::kOpenCl:
      break;
  }
  return "opencl";
}

FilteredBackProjection::FilteredBackProjection(const ScanGeometry& scan, const FbpOptions& options)
    : scan_(scan),
      size_(checked_size(scan, options.size)),
      way_(chosen_way(scan, options)),
      method_(make_method(scan, options, size_, way_)) {}

FilteredBackProjection::~FilteredBackProjection() = default;

BlockMemory FilteredBackProjection::memory() const {
  return {method_->scratch_bytes(), sizeof(float) * (scan_.angles.size() * scan_.positions + size_ * size_)};
}

void FilteredBackProjection::reconstruct(const SinogramView& sinogram, const TomogramView& tomogram,
                                         const std::stop_token& stop) const {
  check_shapes(scan_, sinogram, tomogram, size_);
  check_finite(sinogram);
  clear_outside(tomogram);
  method_->reconstruct(sinogram, tomogram, stop);
  if (stop.stop_requested()) throw Error(ErrorKind::kInterrupted, "the reconstruction", "interrupted");
}

}  // namespace annulus
