#include <annulus/codecs/bit_planes.hpp>
#include <annulus/codecs/bit_planes_impl.hpp>

namespace annulus {
namespace {

// Eight bits times a matrix of 8 x 8 bits is one instruction: the unit vectors times the matrix are its
// columns. It counts the rows of the matrix from its last byte.
struct TransposeByProduct {
  static void apply(const __m256i rows[8], __m256i out[8]) {
    const __m256i reversed[8] = {rows[7], rows[6], rows[5], rows[4], rows[3], rows[2], rows[1], rows[0]};
    interleave_bytes(reversed, out);
    const __m256i units = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201));
    for (int v = 0; v < 8; ++v) out[v] = _mm256_gf2p8affine_epi64_epi8(units, out[v], 0);
  }
};

}  // namespace

GatherPixels pixel_gatherer_gfni(std::size_t element_size) {
  if (element_size == 1) return gather_pixels<1, TransposeByProduct>;
  return element_size == 2 ? gather_pixels<2, TransposeByProduct> : gather_pixels<4, TransposeByProduct>;
}

}  // namespace annulus
