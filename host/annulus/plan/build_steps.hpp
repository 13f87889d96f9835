// The steps of build_plan, in the order in which it takes them: from a geometry and options over shares and
// correction maps to the integers of a plan. Used by this room only.
#pragma once

#include <annulus/core/large_vector.hpp>
#include <annulus/core/sha256.hpp>
#include <annulus/plan/plan.hpp>
#include <annulus/plan/splitting.hpp>

#include <cstdint>
#include <vector>

namespace annulus {

// A plan with all that follows from its input at once: geometry, options, type, shape, validity, and axes
// that have no bins yet. Throws what build_plan throws for options that make no sense.
Plan begin_plan(const Geometry& geometry, const IntegrationOptions& options, const FrameProperties& frames);

// 1 = excluded: gaps of the detector and the user's mask. Throws kInput for maps of another shape.
std::vector<std::uint8_t> static_mask(const Geometry& geometry, Shape shape, const PixelMaps& maps);

// How large the matrix may become, so that bins far finer than pixels end in a message and not in the
// machine's last memory. Entries take 8 bytes each, and twice that while the plan is made. Bins of the size
// of pixels need up to about ten per pixel; small detectors may have finer ones.
std::uint64_t max_entries(const Plan& plan);

// Throws kPlan, naming the options that give the number of bins.
[[noreturn]] void refuse_entries(const Plan& plan, std::uint64_t entries);

// Throws kPlan if the pixels that `excluded` lets through have more than max_entries shares. Looks at them
// only if there are so many bins that it may come to that.
void check_entries(const Plan& plan, const Splitter& splitter, const std::vector<std::uint8_t>& excluded,
                   unsigned threads);

// What the count of each pixel is divided by: flat * solid angle * polarisation.
LargeVector<double> normalization_map(const Geometry& geometry, Shape shape,
                                      const IntegrationOptions& options, const PixelMaps& maps,
                                      unsigned threads);

// Fills weight_bits, matrix and totals.count with the largest weight_bits for which no sum can overflow, and
// variance_bits likewise. Throws kPlan if that makes the shares of a bin too coarse, or if no pixel is left.
void compile_matrix(Plan& plan, const Splitter& splitter, const std::vector<std::uint8_t>& excluded,
                    unsigned threads);

// Fills normalization_bits and dark_bits. After compile_matrix.
void choose_correction_bits(Plan& plan, const LargeVector<double>& normalization, const PixelMaps& maps,
                            unsigned threads);

// Fills normalization, dark and their totals. After choose_correction_bits.
void compile_corrections(Plan& plan, const LargeVector<double>& normalization, const PixelMaps& maps,
                         unsigned threads);

// SHA-256 over everything in the plan but the hash itself, in two steps: the first takes all but
// normalization and dark, so that it can run while these are compiled.
void hash_beginning(Sha256& sha, const Plan& plan);
std::string hash_end(Sha256& sha, const Plan& plan);

}  // namespace annulus
