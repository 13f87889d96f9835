#include <annulus/codecs/bit_planes.hpp>
#include <annulus/codecs/bit_planes_impl.hpp>

namespace annulus {
namespace {

// The rows are the bits of every byte: squares of 1, 2 and 4 bits change places between them.
struct TransposeBySwaps {
  static void apply(__m256i rows[8], __m256i out[8]) {
    swap<1>(rows, _mm256_set1_epi8(0x55));
    swap<2>(rows, _mm256_set1_epi8(0x33));
    swap<4>(rows, _mm256_set1_epi8(0x0f));
    interleave_bytes(rows, out);
  }

  template <int kDistance>
  static void swap(__m256i rows[8], __m256i mask) {
    for (int row = 0; row < 8; ++row) {
      if (row & kDistance) continue;
      __m256i& a = rows[row];
      __m256i& b = rows[row + kDistance];
      const __m256i t = _mm256_and_si256(_mm256_xor_si256(_mm256_srli_epi64(a, kDistance), b), mask);
      b = _mm256_xor_si256(b, t);
      a = _mm256_xor_si256(a, _mm256_slli_epi64(t, kDistance));
    }
  }
};

}  // namespace

GatherPixels pixel_gatherer_avx2(std::size_t element_size) {
  if (element_size == 1) return gather_pixels<1, TransposeBySwaps>;
  return element_size == 2 ? gather_pixels<2, TransposeBySwaps> : gather_pixels<4, TransposeBySwaps>;
}

}  // namespace annulus
