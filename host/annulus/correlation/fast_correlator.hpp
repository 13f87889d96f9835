// A preview of a correlation: as Correlator, but in single precision.
//
// Its signal is float, with errors of about 1e-6 of the sums of squares, which depend on blocks, threads and
// order. The mask term is exact.
#pragma once

#include <annulus/correlation/correlation_sums.hpp>
#include <annulus/correlation/correlator.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace annulus {

class FastCorrelator {
 public:
  // Throws kUsage for a shape or block that makes no sense.
  FastCorrelator(PolarShape shape, int scale, CorrelatorOptions options = {});

  // What one takes; and once more for masks that are not trivial, while they are correlated.
  static std::size_t bytes(const PolarShape& shape, CorrelatorOptions options = {});
  static std::size_t mask_bytes(const PolarShape& shape, CorrelatorOptions options = {});

  // As that of Correlator, but for images that it refuses for their values.
  void add(std::span<const std::int16_t> images, std::span<const std::uint8_t> valid = {});

  // Of all images so far; more may follow.
  const PreviewSums& sums();

 private:
  void multiply_staged();
  void drain();
  void add_masks();

  CorrelatorOptions options_;
  PreviewSums sums_;
  FrequencySums<float> frequencies_;
  ImageStage stage_;
  MaskTerm masks_;
  std::size_t multiplied_ = 0;  // since the sums were drained
};

}  // namespace annulus
