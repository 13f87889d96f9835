#include <annulus/core/error.hpp>
#include <annulus/tomography/fbp_method.hpp>
#include <annulus/tomography/filtered_back_projection.hpp>
#include <annulus/tomography/lane_loops.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace annulus {
namespace {

// Beyond this, positions and pixels are no scan but a mistake, and products of them would need checks
// everywhere.
constexpr std::size_t kMostPositions = 1U << 16U;
constexpr std::size_t kMostAngles = 1U << 20U;

std::size_t checked_size(const ScanGeometry& scan, const FbpOptions& options) {
  scan.check();
  if (scan.positions > kMostPositions || scan.angles.size() > kMostAngles) {
    throw Error(ErrorKind::kInput, "the scan",
                fmt::format("{} angles and {} positions are too many: at most {} and {}", scan.angles.size(),
                            scan.positions, kMostAngles, kMostPositions));
  }
  const std::size_t size = options.size > 0 ? options.size : scan.positions;
  if (size < 2 || size > kMostPositions) {
    throw Error(ErrorKind::kUsage, "`size`", fmt::format("a tomogram cannot have {0} x {0} pixels", size),
                fmt::format("give 2 to {}, or 0 for as many as there are positions", kMostPositions));
  }
  return size;
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

FilteredBackProjection::FilteredBackProjection(const ScanGeometry& scan, const FbpOptions& options)
    : scan_(scan), size_(checked_size(scan, options)), method_(make_direct_method(scan, options, size_)) {}

FilteredBackProjection::~FilteredBackProjection() = default;

BlockMemory FilteredBackProjection::memory() const {
  return {method_->scratch_bytes(), sizeof(float) * (scan_.angles.size() * scan_.positions + size_ * size_)};
}

void FilteredBackProjection::reconstruct(const SinogramView& sinogram, const TomogramView& tomogram) const {
  check_shapes(scan_, sinogram, tomogram);
  if (tomogram.size != size_) {
    throw Error(ErrorKind::kInput, "the tomogram",
                fmt::format("it has {0} x {0} pixels, the reconstruction {1} x {1}", tomogram.size, size_));
  }
  check_finite(sinogram);
  clear_outside(tomogram);
  method_->reconstruct(sinogram, tomogram);
}

}  // namespace annulus
