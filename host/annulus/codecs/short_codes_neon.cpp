#include <annulus/codecs/short_codes.hpp>

#include <arm_neon.h>

#include <cstring>

namespace annulus {
namespace {

constexpr std::ptrdiff_t kWord = 16;

// Sums of the first 1, 2, ... 8 numbers.
int16x8_t prefix_sums(int16x8_t sums) {
  const int16x8_t zero = vdupq_n_s16(0);
  sums = vaddq_s16(sums, vextq_s16(zero, sums, 7));
  sums = vaddq_s16(sums, vextq_s16(zero, sums, 6));
  return vaddq_s16(sums, vextq_s16(zero, sums, 4));
}

// The first byte that is 0x80, or kWord.
std::ptrdiff_t find_escape(int8x16_t bytes) {
  const uint8x16_t escapes = vceqq_s8(bytes, vdupq_n_s8(INT8_MIN));
  const uint8x8_t halves = vshrn_n_u16(vreinterpretq_u16_u8(escapes), 4);  // four bits a byte
  const std::uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(halves), 0);
  return mask == 0 ? kWord : __builtin_ctzll(mask) / 4;
}

void store_sums(std::int32_t* out, int32x4_t before, int16x8_t sums) {
  vst1q_s32(out, vaddw_s16(before, vget_low_s16(sums)));
  vst1q_s32(out + 4, vaddw_high_s16(before, sums));
}

}  // namespace

ShortCodes decode_short_codes_neon(const std::byte* at, const std::byte* end, std::int32_t* out,
                                   std::int32_t* out_end, std::int32_t value) {
  while (end - at >= kWord + 2 && out != out_end) {
    const int8x16_t bytes = vld1q_s8(reinterpret_cast<const std::int8_t*>(at));
    const int16x8_t low = prefix_sums(vmovl_s8(vget_low_s8(bytes)));
    const int16x8_t high = vaddq_s16(prefix_sums(vmovl_high_s8(bytes)), vdupq_laneq_s16(low, 7));
    const int32x4_t before = vdupq_n_s32(value);
    const std::ptrdiff_t escape = find_escape(bytes);
    std::ptrdiff_t plain = escape;
    if (out_end - out >= kWord) {
      store_sums(out, before, low);
      store_sums(out + 8, before, high);
    } else {
      std::int32_t pixels[kWord];
      store_sums(pixels, before, low);
      store_sums(pixels + 8, before, high);
      if (plain > out_end - out) plain = out_end - out;
      std::memcpy(out, pixels, static_cast<std::size_t>(plain) * sizeof(std::int32_t));
    }
    if (plain > 0) value = out[plain - 1];
    at += plain;
    out += plain;
    if (escape == kWord) continue;
    if (out == out_end) break;
    std::int16_t delta;
    std::memcpy(&delta, at + 1, sizeof(delta));
    if (delta == INT16_MIN) break;
    value += delta;
    *out++ = value;
    at += 3;
  }
  return {at, out, value};
}

}  // namespace annulus
