// What no frame of a plan can exceed, bin by bin: the proof of docs/numerics.md as numbers, to hold results
// against.
#pragma once

#include <annulus/plan/recipe.hpp>

#include <cstdint>
#include <vector>

namespace annulus {

// Sums over all pixels of the plan. Where one does not fit, the largest integer, which bounds nothing.
struct SumBounds {
  std::uint64_t pixels = 0;  // that have weights
  std::int64_t max_count = 0;
  std::vector<std::int64_t> count;          // weights
  std::vector<std::int64_t> squares;        // squared weights; empty without variance
  std::vector<std::int64_t> normalization;  // weight * |normalization|
  std::vector<std::int64_t> dark;           // weight * |dark|; empty without a dark
};

SumBounds sum_bounds(const Plan& plan, const Recipe& recipe);

// The largest integer where the product does not fit. Neither factor is negative.
std::int64_t saturating_product(std::int64_t a, std::int64_t b);

}  // namespace annulus
