#include <annulus/backends/cpu/lane_kernels_impl.hpp>

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

extern const LaneKernels kLaneKernelsNeon = {Neon::kLanes, interleave_rows, find_extremes<Neon>,
                                             find_outside<Neon>, integrate_lanes<Neon>};

}  // namespace annulus
