#include <annulus/backends/cpu/lane_spread_impl.hpp>

#include <arm_neon.h>

namespace annulus {
namespace {

// Eight lanes in two registers.
struct Neon {
  static constexpr std::size_t kLanes = 8;
  struct Int {
    int32x4_t low, high;
  };
  struct Wide {
    int64x2_t low, high;
  };

  static Int load(const std::int32_t* at) { return {vld1q_s32(at), vld1q_s32(at + 4)}; }
  static void store(std::int32_t* at, Int value) {
    vst1q_s32(at, value.low);
    vst1q_s32(at + 4, value.high);
  }
  static Int add(Int a, Int b) { return {vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)}; }
  static Int min(Int a, Int b) { return {vminq_s32(a.low, b.low), vminq_s32(a.high, b.high)}; }
  static Int max(Int a, Int b) { return {vmaxq_s32(a.low, b.low), vmaxq_s32(a.high, b.high)}; }
  static Int everywhere(std::int32_t value) { return {vdupq_n_s32(value), vdupq_n_s32(value)}; }
  static bool any_outside(Int value, Int low, Int high) {
    const uint32x4_t below = vorrq_u32(vcltq_s32(value.low, low.low), vcltq_s32(value.high, low.high));
    const uint32x4_t above = vorrq_u32(vcgtq_s32(value.low, high.low), vcgtq_s32(value.high, high.high));
    return vmaxvq_u32(vorrq_u32(below, above)) != 0;
  }
  // At the places of the even ones.
  static Int odd_lanes(Int value) {
    return {vtrn2q_s32(value.low, value.low), vtrn2q_s32(value.high, value.high)};
  }

  static Wide zero() { return {vdupq_n_s64(0), vdupq_n_s64(0)}; }
  static Wide load_wide(const std::int64_t* at) { return {vld1q_s64(at), vld1q_s64(at + 2)}; }
  static void store_wide(std::int64_t* at, Wide value) {
    vst1q_s64(at, value.low);
    vst1q_s64(at + 2, value.high);
  }
  static Wide add_wide(Wide a, Wide b) { return {vaddq_s64(a.low, b.low), vaddq_s64(a.high, b.high)}; }
  static Wide subtract_wide(Wide a, Wide b) { return {vsubq_s64(a.low, b.low), vsubq_s64(a.high, b.high)}; }

  // Of the even lanes.
  static Wide multiply_signed(Int value, std::uint32_t factor) {
    const int32x4_t even = vuzp1q_s32(value.low, value.high);
    const auto by = static_cast<std::int32_t>(factor);
    return {vmull_n_s32(vget_low_s32(even), by), vmull_high_n_s32(even, by)};
  }
  static Wide multiply_unsigned(Int value, std::uint32_t factor) {
    const uint32x4_t even = vreinterpretq_u32_s32(vuzp1q_s32(value.low, value.high));
    return {vreinterpretq_s64_u64(vmull_n_u32(vget_low_u32(even), factor)),
            vreinterpretq_s64_u64(vmull_high_n_u32(even, factor))};
  }
  static Wide multiply_lanes(Int a, Int b) {
    const int32x4_t left = vuzp1q_s32(a.low, a.high), right = vuzp1q_s32(b.low, b.high);
    return {vmull_s32(vget_low_s32(left), vget_low_s32(right)), vmull_high_s32(left, right)};
  }
  template <int kBits>
  static Wide low_bits(Wide value) {
    const int64x2_t mask = vdupq_n_s64((std::int64_t{1} << kBits) - 1);
    return {vandq_s64(value.low, mask), vandq_s64(value.high, mask)};
  }
  template <int kBits>
  static Wide shift_right(Wide value) {
    return {vshrq_n_s64(value.low, kBits), vshrq_n_s64(value.high, kBits)};
  }
  static Int as_int(Wide value) {
    return {vreinterpretq_s32_s64(value.low), vreinterpretq_s32_s64(value.high)};
  }

  struct Float {
    float32x4_t low, high;
  };
  using Where = uint32x4_t;
  static Float load_float(const float* at) { return {vld1q_f32(at), vld1q_f32(at + 4)}; }
  static Where nowhere() { return vdupq_n_u32(0); }
  static Where also_outside(Where where, Int value, float divisor, Float low, Float high) {
    const auto outside = [divisor](int32x4_t lanes, float32x4_t from, float32x4_t to) {
      const float32x4_t number = vcvtq_f32_s32(lanes);
      return vorrq_u32(vcltq_f32(number, vmulq_n_f32(from, divisor)),
                       vcgtq_f32(number, vmulq_n_f32(to, divisor)));
    };
    return vorrq_u32(
        where, vorrq_u32(outside(value.low, low.low, high.low), outside(value.high, low.high, high.high)));
  }
  static bool anywhere(Where where) { return vmaxvq_u32(where) != 0; }
};

// Four pixels of four lanes: pixel i of all lanes goes to out + i * Neon::kLanes.
void transpose_block(const std::int32_t* rows, std::size_t stride, std::int32_t* out) {
  const int32x4_t a = vld1q_s32(rows), b = vld1q_s32(rows + stride);
  const int32x4_t c = vld1q_s32(rows + 2 * stride), d = vld1q_s32(rows + 3 * stride);
  const auto ab_even = vreinterpretq_s64_s32(vtrn1q_s32(a, b)),
             ab_odd = vreinterpretq_s64_s32(vtrn2q_s32(a, b));
  const auto cd_even = vreinterpretq_s64_s32(vtrn1q_s32(c, d)),
             cd_odd = vreinterpretq_s64_s32(vtrn2q_s32(c, d));
  const auto put = [&](std::size_t pixel, int64x2_t lanes) {
    vst1q_s32(out + pixel * Neon::kLanes, vreinterpretq_s32_s64(lanes));
  };
  put(0, vtrn1q_s64(ab_even, cd_even));
  put(1, vtrn1q_s64(ab_odd, cd_odd));
  put(2, vtrn2q_s64(ab_even, cd_even));
  put(3, vtrn2q_s64(ab_odd, cd_odd));
}

void interleave_rows(const std::int32_t* rows, std::size_t stride, std::size_t count, std::int32_t* values) {
  for (std::size_t pixel = 0; pixel < count; pixel += 4) {
    for (std::size_t lane = 0; lane < Neon::kLanes; lane += 4) {
      transpose_block(rows + lane * stride + pixel, stride, values + pixel * Neon::kLanes + lane);
    }
  }
}

}  // namespace

extern const LaneKernels kLaneKernelsNeon = {Neon::kLanes,       interleave_rows,       find_extremes<Neon>,
                                             find_outside<Neon>, integrate_lanes<Neon>, add_spread<Neon>,
                                             find_doubtful<Neon>};

}  // namespace annulus
