// The steps of build_plan, from shares and correction maps to the integers of a plan. Used by this room only.
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

// Fills weight_bits, matrix and totals.count with the largest weight_bits for which no sum can overflow, and
// variance_bits likewise. Throws kPlan if weight_bits would be less than kMinWeightBits, or if no pixel is
// left.
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
