// What is done to a block of bins before it is reconstructed. Every bin by itself, so that blocks change
// nothing; what needs all bins, such as the strength of the beam, is found before.
#pragma once

#include <annulus/tomography/clean_up.hpp>
#include <annulus/tomography/sinogram.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace annulus {

struct Cleaning {
  std::vector<double> angles = {};                      // of the projections, in their order; none: even ones
  std::size_t subtract_air = 0;                         // so many outermost positions; 0: none is subtracted
  std::vector<double> factors = {};                     // of each projection; none: it is not scaled
  std::optional<StripeOptions> stripes = std::nullopt;  // none: they are left
  unsigned threads = 0;
};

struct CleanedBins {
  std::size_t filled_values = 0;
  std::vector<std::size_t> empty_bins;  // of the block: without a value anywhere, and 0 now
  std::size_t stripes = 0;
};

// has_gaps: of each bin, whether cells may be missing (NaN). A projection that has no value in a bin in which
// others have is interpolated, there, between the projections before and after it, by their angles.
CleanedBins clean_bins(Sinogram& sinogram, std::span<const std::uint8_t> has_gaps, const Cleaning& cleaning);

}  // namespace annulus
