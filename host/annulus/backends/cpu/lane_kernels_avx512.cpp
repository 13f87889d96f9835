#include <annulus/backends/cpu/interleave_avx2.hpp>
#include <annulus/backends/cpu/lane_kernels_impl.hpp>

namespace annulus {
namespace {

struct Avx512 {
  static constexpr std::size_t kLanes = 16;
  using Int = __m512i;   // 16 x 32 bits
  using Wide = __m512i;  // 8 x 64 bits

  static Int load(const std::int32_t* at) { return _mm512_loadu_si512(at); }
  static void store(std::int32_t* at, Int value) { _mm512_storeu_si512(at, value); }
  static Int add(Int a, Int b) { return _mm512_add_epi32(a, b); }
  static Int min(Int a, Int b) { return _mm512_min_epi32(a, b); }
  static Int max(Int a, Int b) { return _mm512_max_epi32(a, b); }
  static Int everywhere(std::int32_t value) { return _mm512_set1_epi32(value); }
  static bool any_outside(Int value, Int low, Int high) {
    return (_mm512_cmplt_epi32_mask(value, low) | _mm512_cmpgt_epi32_mask(value, high)) != 0;
  }
  static Int odd_lanes(Int value) { return _mm512_srli_epi64(value, 32); }  // at the places of the even ones

  static Wide zero() { return _mm512_setzero_si512(); }
  static Wide load_wide(const std::int64_t* at) { return _mm512_loadu_si512(at); }
  static void store_wide(std::int64_t* at, Wide value) { _mm512_storeu_si512(at, value); }
  static Wide add_wide(Wide a, Wide b) { return _mm512_add_epi64(a, b); }
  static Wide subtract_wide(Wide a, Wide b) { return _mm512_sub_epi64(a, b); }

  // Of the even lanes.
  static Wide multiply_signed(Int value, std::uint32_t factor) {
    return _mm512_mul_epi32(value, _mm512_set1_epi32(static_cast<int>(factor)));
  }
  static Wide multiply_unsigned(Int value, std::uint32_t factor) {
    return _mm512_mul_epu32(value, _mm512_set1_epi32(static_cast<int>(factor)));
  }
};

}  // namespace

extern const LaneKernels kLaneKernelsAvx512 = {Avx512::kLanes, interleave_rows<Avx512::kLanes>,
                                               find_extremes<Avx512>, find_outside<Avx512>,
                                               integrate_lanes<Avx512>};

}  // namespace annulus
