#include <annulus/codecs/load.hpp>
#include <annulus/codecs/short_codes.hpp>

#include <cstring>
#include <limits>

namespace annulus {

#if defined(__x86_64__)
ShortCodes decode_short_codes_avx2(const std::byte* at, const std::byte* end, std::int32_t* out,
                                   std::int32_t* out_end, std::int32_t value);
#elif defined(__aarch64__)
ShortCodes decode_short_codes_neon(const std::byte* at, const std::byte* end, std::int32_t* out,
                                   std::int32_t* out_end, std::int32_t value);
#endif

namespace {

constexpr std::ptrdiff_t kWord = 8;

// Whether one of the eight bytes is 0x80, the announcement of a longer code.
bool has_escape(std::uint64_t word) {
  const std::uint64_t zero_if_escape = word ^ 0x8080808080808080u;
  return ((zero_if_escape - 0x0101010101010101u) & ~zero_if_escape & 0x8080808080808080u) != 0;
}

ShortCodes decode_short_codes_generic(const std::byte* at, const std::byte* end, std::int32_t* out,
                                      std::int32_t* out_end, std::int32_t value) {
  while (end - at >= kWord && out != out_end) {
    const auto word = load<std::uint64_t>(at);
    if (out_end - out >= kWord && !has_escape(word)) {
      for (int i = 0; i < kWord; ++i) {
        value += static_cast<std::int8_t>(word >> (8 * i));
        out[i] = value;
      }
      at += kWord;
      out += kWord;
      continue;
    }
    std::int32_t delta = load<std::int8_t>(at);
    std::ptrdiff_t length = 1;
    if (delta == std::numeric_limits<std::int8_t>::min()) {
      delta = load<std::int16_t>(at + 1);
      length = 3;
      if (delta == std::numeric_limits<std::int16_t>::min()) break;
    }
    value += delta;
    *out++ = value;
    at += length;
  }
  return {at, out, value};
}

}  // namespace

// AVX-512 does this no faster than AVX2 does.
DecodeShortCodes short_codes_decoder(InstructionSet set) {
#if defined(__x86_64__)
  if (set != InstructionSet::kGeneric) return decode_short_codes_avx2;
#elif defined(__aarch64__)
  if (set == InstructionSet::kNeon) return decode_short_codes_neon;
#endif
  static_cast<void>(set);
  return decode_short_codes_generic;
}

}  // namespace annulus
