// From shares and correction maps to the integers of a plan. Used by build_plan only.
#pragma once

#include <annulus/plan/plan.hpp>
#include <annulus/plan/splitting.hpp>

#include <cstdint>
#include <vector>

namespace annulus {

// Fills weight_bits, matrix and totals.count with the largest weight_bits for which no sum can overflow, and
// variance_bits likewise. Throws kPlan if weight_bits would be less than kMinWeightBits, or if no pixel is
// left.
void compile_matrix(Plan& plan, const PixelSplitter& splitter, const std::vector<std::uint8_t>& excluded,
                    unsigned threads);

// Fills normalization, dark, their bits and their totals. After compile_matrix.
void compile_corrections(Plan& plan, const std::vector<double>& normalization, const PixelMaps& maps);

// SHA-256 over everything in the plan but the hash itself.
std::string hash_of(const Plan& plan);

}  // namespace annulus
