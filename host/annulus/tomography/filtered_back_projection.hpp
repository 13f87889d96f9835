// Filtered back-projection: from a sinogram to a tomogram, all bins at once.
//
// The tomogram is
//   I(y, x) = sum over angles of weight / 2 x the filtered projection at t (ScanGeometry says where that is)
// within the circle, and 0 outside. With equal weights, pi / number of angles, that is scikit-image's
// iradon(circle=True): beyond the first and last position a projection counts as 0, and its filtered version
// goes on there as the filter makes it.
//
// What a filtered projection is between its positions is a matter of `interpolation`. How all that is
// computed is one of speed, and changes less than 1e-5 of the maximum of a bin:
//   direct    pixel by pixel. The same bytes for every number of threads and every instruction set.
//   fourier   by Fourier transforms, for band-limited interpolation only (docs/tomography.md says why). The
//             same bytes for every number of threads.
//   opencl    pixel by pixel on OpenCL devices. The same bytes as those of direct.
#pragma once

#include <annulus/core/instruction_set.hpp>
#include <annulus/tomography/angle_weights.hpp>
#include <annulus/tomography/filter.hpp>
#include <annulus/tomography/sinogram.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace annulus {

enum class Interpolation {
  kLinear,      // as iradon does
  kBandLimited  // by the trigonometric polynomial through all values of the filtered projection
};

enum class FbpWay { kDirect, kFourier, kOpenCl };

// "direct", "fourier", "opencl"
std::string_view name_of(FbpWay way);

struct FbpOptions {
  Filter filter = Filter::kRamp;
  Interpolation interpolation = Interpolation::kLinear;
  // By itself: direct for linear interpolation; for band-limited, fourier from kFourierFrom positions on.
  std::optional<FbpWay> way;
  AngleWeighting weighting = AngleWeighting::kSpacing;
  std::size_t size = 0;  // of the tomogram, in pixels of one step; 0: as many as there are positions
  unsigned threads = 0;  // 0: as many as the machine has
  InstructionSet instruction_set = best_instruction_set();
  // Of the way opencl, as of the backend of that name (backends/opencl/devices.hpp). Several devices share
  // the bins.
  std::string device = "0";
  std::uint64_t device_memory = 0;  // MiB of each device to use; 0: all
};

inline constexpr std::size_t kFourierFrom = 64;

// What a block of bins takes, with its sinogram and its tomogram.
struct BlockMemory {
  std::size_t fixed = 0;    // bytes, however many bins
  std::size_t per_bin = 0;  // bytes

  // The most bins, up to `bins`, that fit into so many bytes; in whole groups of lanes if there are several.
  // Throws kUsage for `memory` if not even one does.
  std::size_t bins_within(std::uint64_t bytes, std::size_t bins) const;
};

class FbpMethod;

class FilteredBackProjection {
 public:
  // Throws kInput or kUsage for what cannot be, kBackend if devices cannot do it.
  FilteredBackProjection(const ScanGeometry& scan, const FbpOptions& options);
  ~FilteredBackProjection();

  std::size_t size() const { return size_; }
  FbpWay way() const { return way_; }
  BlockMemory memory() const;

  // The bins of the sinogram become those of the tomogram, all of which is written. A bin's result does not
  // depend on the others. Throws kInput if a cell is not finite, kBackend if a device fails, kInterrupted
  // once a stop is requested.
  void reconstruct(const SinogramView& sinogram, const TomogramView& tomogram,
                   const std::stop_token& stop = {}) const;

 private:
  ScanGeometry scan_;
  std::size_t size_;
  FbpWay way_;
  std::unique_ptr<const FbpMethod> method_;
};

}  // namespace annulus
