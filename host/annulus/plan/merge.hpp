// Some bins of some frames as one.
#pragma once

#include <annulus/plan/recipe.hpp>
#include <annulus/plan/sums.hpp>

#include <span>

namespace annulus {

// The integers of a frame and its factor (normalise()).
struct FrameAndFactor {
  const Sums* sums = nullptr;
  double factor = 1;
};

// NaN where no pixel contributes. Of one bin of one frame, just what normalise() makes of it.
struct MergedBins {
  double intensity;  // (S - D) / (sum over frames of N x factor)
  double error;      // standard error of the mean; NaN without error model
  double centre;     // of the bins, each weighted by its normalisation
};

// Integers are added exactly, and divided once. All frames are of this plan, or of this part of one.
//
// Errors by the spread of pixels: in each bin, that of the pixels of all frames about the mean of these
// frames in this bin; bins are then added in quadrature. What differs between bins, as on the flanks of a
// peak, is no error.
MergedBins merge(const Plan& plan, const Recipe& recipe, std::span<const FrameAndFactor> frames,
                 BinRange bins);

// Of sums of pixels, with errors if there are variances.
MergedBins merge(const Plan& plan, std::span<const FrameAndFactor> frames, BinRange bins);

// Of the plan of patterns that has only these bins, what normalise() and merge() need.
Plan part_of(const Plan& plan, BinRange bins);

}  // namespace annulus
