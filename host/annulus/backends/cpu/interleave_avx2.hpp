// Rows of lanes to vectors of lanes: transposes blocks of 8 x 8. In an unnamed namespace, like
// lane_kernels_impl.hpp.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace annulus {
namespace {

inline void transpose_block(const std::int32_t* rows, std::size_t stride, std::int32_t* out,
                            std::size_t out_stride) {
  const auto row = [&](std::size_t i) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i * stride));
  };
  const auto put = [&](std::size_t i, __m256i value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * out_stride), value);
  };
  // Pairs of rows, then fours; each half of a vector holds one half of the pixels.
  __m256i fours[8];
  for (int half = 0; half < 2; ++half) {
    const __m256i a = row(4 * half), b = row(4 * half + 1), c = row(4 * half + 2), d = row(4 * half + 3);
    const __m256i ab_low = _mm256_unpacklo_epi32(a, b), ab_high = _mm256_unpackhi_epi32(a, b);
    const __m256i cd_low = _mm256_unpacklo_epi32(c, d), cd_high = _mm256_unpackhi_epi32(c, d);
    fours[4 * half] = _mm256_unpacklo_epi64(ab_low, cd_low);
    fours[4 * half + 1] = _mm256_unpackhi_epi64(ab_low, cd_low);
    fours[4 * half + 2] = _mm256_unpacklo_epi64(ab_high, cd_high);
    fours[4 * half + 3] = _mm256_unpackhi_epi64(ab_high, cd_high);
  }
  for (int i = 0; i < 4; ++i) {
    put(i, _mm256_permute2x128_si256(fours[i], fours[4 + i], 0x20));
    put(i + 4, _mm256_permute2x128_si256(fours[i], fours[4 + i], 0x31));
  }
}

template <std::size_t kLanes>
void interleave_rows(const std::int32_t* rows, std::size_t stride, std::size_t count, std::int32_t* values) {
  for (std::size_t pixel = 0; pixel < count; pixel += 8) {
    for (std::size_t lane = 0; lane < kLanes; lane += 8) {
      transpose_block(rows + lane * stride + pixel, stride, values + pixel * kLanes + lane, kLanes);
    }
  }
}

}  // namespace
}  // namespace annulus
