// What the kernels for robust averages are told (kernels/robust.cl), and where they leave what they found.
#pragma once

#include <annulus/backends/opencl/api.hpp>
#include <annulus/plan/recipe.hpp>

#include <cstddef>

namespace annulus::opencl {

struct RobustNumbers {
  cl_uint square_shift = 0;
  cl_uint dark_shift = 0;
  cl_uint by_rank = 0;
  cl_uint count_invalid = 0;
  cl_uint wanted = 0;  // a bit for each word that a bin may have
  cl_uint words = 0;   // how many of these are set
  cl_uint stride = 0;  // these two are of a batch
  cl_uint frames = 0;

  // Of the results of a bin: the place of a quantity's first word.
  std::size_t place_of(Quantity quantity) const;
};

// All 0 for sums of pixels, which take other kernels.
RobustNumbers robust_numbers(const Job& job);

// Of numbers of 128 bits, in two's complement.
bool has_two_words(Quantity quantity);

}  // namespace annulus::opencl
