#include <annulus/backends/cpu/interleave_avx2.hpp>
#include <annulus/backends/cpu/lane_spread_impl.hpp>

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
  static Wide multiply_lanes(Int a, Int b) { return _mm512_mul_epi32(a, b); }
  template <int kBits>
  static Wide low_bits(Wide value) {
    return _mm512_and_si512(value, _mm512_set1_epi64((1ll << kBits) - 1));
  }
  template <int kBits>
  static Wide shift_right(Wide value) {
    return _mm512_srli_epi64(value, kBits);
  }
  static Int as_int(Wide value) { return value; }

  using Float = __m512;
  using Where = __mmask16;
  static Float load_float(const float* at) { return _mm512_loadu_ps(at); }
  static Where nowhere() { return 0; }
  static Where also_outside(Where where, Int value, float divisor, Float low, Float high) {
    const Float number = _mm512_cvtepi32_ps(value);
    const Float by = _mm512_set1_ps(divisor);
    return where | _mm512_cmp_ps_mask(number, _mm512_mul_ps(low, by), _CMP_LT_OQ) |
           _mm512_cmp_ps_mask(number, _mm512_mul_ps(high, by), _CMP_GT_OQ);
  }
  static bool anywhere(Where where) { return where != 0; }
};

}  // namespace

extern const LaneKernels kLaneKernelsAvx512 = {Avx512::kLanes,          interleave_rows<Avx512::kLanes>,
                                               find_extremes<Avx512>,   find_outside<Avx512>,
                                               integrate_lanes<Avx512>, add_spread<Avx512>,
                                               find_doubtful<Avx512>};

}  // namespace annulus
