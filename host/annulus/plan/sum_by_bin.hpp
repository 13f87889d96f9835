// Sums over the entries of a plan's matrix, bin by bin, on several threads. Used by compile.cpp only.
#pragma once

#include <annulus/core/parallel.hpp>
#include <annulus/plan/plan.hpp>

#include <algorithm>
#include <vector>

namespace annulus {

// Calls add(sums, pixel, begin, end) for every pixel that has entries, where these are [begin, end); `sums`
// has one Sum a bin. The pixels are summed in parts whose number does not depend on the threads, so that sums
// of floating point do not either; with many bins they are few, for the memory they take.
template <typename Sum, typename Add>
std::vector<Sum> sum_by_bin(const SparseMatrix& matrix, std::uint32_t bins, unsigned threads, Add&& add) {
  constexpr std::size_t kMostParts = 16;
  const std::size_t parts =
      std::clamp<std::size_t>(matrix.bin.size() / (std::size_t{16} * bins), 1, kMostParts);
  const std::size_t pixels = matrix.first.size() - 1;
  std::vector<std::vector<Sum>> sums(parts);
  parallel_ranges(parts, threads, [&](std::size_t first_part, std::size_t end_part) {
    for (std::size_t part = first_part; part < end_part; ++part) {
      sums[part].resize(bins);
      const std::size_t end = pixels * (part + 1) / parts;
      for (std::size_t pixel = pixels * part / parts; pixel < end; ++pixel) {
        const std::uint32_t begin_entry = matrix.first[pixel], end_entry = matrix.first[pixel + 1];
        if (begin_entry != end_entry) add(sums[part], pixel, begin_entry, end_entry);
      }
    }
  });
  for (std::size_t part = 1; part < parts; ++part) {
    for (std::size_t bin = 0; bin < bins; ++bin) sums[0][bin] += sums[part][bin];
  }
  return std::move(sums[0]);
}

}  // namespace annulus
