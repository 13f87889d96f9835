#include <annulus/backends/cpu/interleave_avx2.hpp>
#include <annulus/backends/cpu/lane_spread_impl.hpp>
#include <annulus/backends/cpu/single_lane_impl.hpp>

namespace annulus {
namespace {

struct Avx2 {
  static constexpr std::size_t kLanes = 8;
  using Int = __m256i;   // 8 x 32 bits
  using Wide = __m256i;  // 4 x 64 bits

  static Int load(const std::int32_t* at) { return _mm256_loadu_si256(reinterpret_cast<const Int*>(at)); }
  static void store(std::int32_t* at, Int value) { _mm256_storeu_si256(reinterpret_cast<Int*>(at), value); }
  static Int add(Int a, Int b) { return _mm256_add_epi32(a, b); }
  static Int min(Int a, Int b) { return _mm256_min_epi32(a, b); }
  static Int max(Int a, Int b) { return _mm256_max_epi32(a, b); }
  static Int everywhere(std::int32_t value) { return _mm256_set1_epi32(value); }
  static bool any_outside(Int value, Int low, Int high) {
    const Int outside = _mm256_or_si256(_mm256_cmpgt_epi32(low, value), _mm256_cmpgt_epi32(value, high));
    return _mm256_testz_si256(outside, outside) == 0;
  }
  static Int odd_lanes(Int value) { return _mm256_srli_epi64(value, 32); }  // at the places of the even ones

  static Wide zero() { return _mm256_setzero_si256(); }
  static Wide load_wide(const std::int64_t* at) {
    return _mm256_loadu_si256(reinterpret_cast<const Wide*>(at));
  }
  static void store_wide(std::int64_t* at, Wide value) {
    _mm256_storeu_si256(reinterpret_cast<Wide*>(at), value);
  }
  static Wide add_wide(Wide a, Wide b) { return _mm256_add_epi64(a, b); }
  static Wide subtract_wide(Wide a, Wide b) { return _mm256_sub_epi64(a, b); }

  // Of the even lanes.
  static Wide multiply_signed(Int value, std::uint32_t factor) {
    return _mm256_mul_epi32(value, _mm256_set1_epi32(static_cast<int>(factor)));
  }
  static Wide multiply_unsigned(Int value, std::uint32_t factor) {
    return _mm256_mul_epu32(value, _mm256_set1_epi32(static_cast<int>(factor)));
  }
  static Wide multiply_lanes(Int a, Int b) { return _mm256_mul_epi32(a, b); }
  template <int kBits>
  static Wide low_bits(Wide value) {
    return _mm256_and_si256(value, _mm256_set1_epi64x((1ll << kBits) - 1));
  }
  template <int kBits>
  static Wide shift_right(Wide value) {
    return _mm256_srli_epi64(value, kBits);
  }
  static Int as_int(Wide value) { return value; }

  using Float = __m256;
  using Where = __m256;
  static Float load_float(const float* at) { return _mm256_loadu_ps(at); }
  static Where nowhere() { return _mm256_setzero_ps(); }
  static Where also_outside(Where where, Int value, float divisor, Float low, Float high) {
    const Float number = _mm256_cvtepi32_ps(value);
    const Float by = _mm256_set1_ps(divisor);
    const Where below = _mm256_cmp_ps(number, _mm256_mul_ps(low, by), _CMP_LT_OQ);
    const Where above = _mm256_cmp_ps(number, _mm256_mul_ps(high, by), _CMP_GT_OQ);
    return _mm256_or_ps(where, _mm256_or_ps(below, above));
  }
  static bool anywhere(Where where) { return _mm256_movemask_ps(where) != 0; }
};

}  // namespace

extern const LaneKernels kLaneKernelsAvx2 = {Avx2::kLanes,          interleave_rows<Avx2::kLanes>,
                                             find_extremes<Avx2>,   find_outside<Avx2>,
                                             integrate_lanes<Avx2>, add_spread<Avx2>,
                                             find_doubtful<Avx2>};

extern const LaneKernels kSingleLaneKernelsAvx2 = kSingleLane;

}  // namespace annulus
