#include <annulus/codecs/short_codes.hpp>

#include <immintrin.h>

// Compiled for AVX2: nothing that other files may share, so no function of the standard library.
namespace annulus {
namespace {

constexpr std::ptrdiff_t kWord = 16;

std::int16_t load16(const std::byte* at) {
  std::int16_t value;
  __builtin_memcpy(&value, at, sizeof(value));
  return value;
}

// Sums of the first 1, 2, ... 16 signed bytes, which fit 16 bits.
__m256i prefix_sums(__m128i bytes) {
  __m256i sums = _mm256_cvtepi8_epi16(bytes);
  sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 2));
  sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 4));
  sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 8));
  // The total of the lower eight goes to each of the upper eight.
  const __m256i lower = _mm256_permute2x128_si256(sums, sums, 0x08);
  return _mm256_add_epi16(sums, _mm256_shuffle_epi8(lower, _mm256_set1_epi16(0x0f0e)));
}

// Writes the first `count` of eight values; none if `count` is not positive.
void store_first(std::int32_t* out, __m256i values, std::ptrdiff_t count) {
  const __m256i place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  _mm256_maskstore_epi32(out, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), place), values);
}

}  // namespace

ShortCodes decode_short_codes_avx2(const std::byte* at, const std::byte* end, std::int32_t* out,
                                   std::int32_t* out_end, std::int32_t value) {
  const __m128i escape = _mm_set1_epi8(-128);
  __m256i before = _mm256_set1_epi32(value);  // the last pixel, everywhere
  while (end - at >= kWord + 2 && out != out_end) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    auto escapes = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, escape)));
    const __m256i sums = prefix_sums(bytes);
    const __m256i low = _mm256_add_epi32(before, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(sums)));
    const __m256i high = _mm256_add_epi32(before, _mm256_cvtepi16_epi32(_mm256_extracti128_si256(sums, 1)));
    std::ptrdiff_t plain = kWord;
    if (out_end - out >= kWord) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), low);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 8), high);
      if (escapes == 0) {
        before = _mm256_permutevar8x32_epi32(high, _mm256_set1_epi32(7));
        at += kWord;
        out += kWord;
        continue;
      }
    } else {
      plain = out_end - out;
      store_first(out, low, plain);
      store_first(out + 8, high, plain - 8);
      escapes &= (1u << plain) - 1;
    }
    if (escapes != 0) plain = __builtin_ctz(escapes);
    std::int32_t last = plain > 0 ? out[plain - 1] : _mm256_cvtsi256_si32(before);
    at += plain;
    out += plain;
    before = _mm256_set1_epi32(last);
    if (escapes == 0) break;
    const std::int16_t delta = load16(at + 1);
    if (delta == INT16_MIN) break;
    last += delta;
    *out++ = last;
    at += 3;
    before = _mm256_set1_epi32(last);
  }
  return {at, out, _mm256_cvtsi256_si32(before)};
}

}  // namespace annulus
