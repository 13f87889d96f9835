// Gathers 256 pixels at a time from bit planes with vectors of 32 bytes. In an unnamed namespace, and without
// the standard library: it is compiled for several instruction sets.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace annulus {
namespace {

constexpr std::size_t kVectorGroups = 32;

// Eight vectors that hold byte k of everybody in vector k to vectors in which eight bytes stand together:
// vector v has those of groups 2 v and 2 v + 1 in its lower half, and of groups 16 later in its upper half.
inline void interleave_bytes(const __m256i in[8], __m256i out[8]) {
  __m256i pairs[8];
  for (int k = 0; k < 4; ++k) {
    pairs[k] = _mm256_unpacklo_epi8(in[2 * k], in[2 * k + 1]);
    pairs[4 + k] = _mm256_unpackhi_epi8(in[2 * k], in[2 * k + 1]);
  }
  for (int half = 0; half < 2; ++half) {
    const __m256i* const pair = pairs + 4 * half;
    const __m256i low[2] = {_mm256_unpacklo_epi16(pair[0], pair[1]), _mm256_unpacklo_epi16(pair[2], pair[3])};
    const __m256i high[2] = {_mm256_unpackhi_epi16(pair[0], pair[1]),
                             _mm256_unpackhi_epi16(pair[2], pair[3])};
    out[4 * half] = _mm256_unpacklo_epi32(low[0], low[1]);
    out[4 * half + 1] = _mm256_unpackhi_epi32(low[0], low[1]);
    out[4 * half + 2] = _mm256_unpacklo_epi32(high[0], high[1]);
    out[4 * half + 3] = _mm256_unpackhi_epi32(high[0], high[1]);
  }
}

// One byte of 256 pixels, in the order of interleave_bytes, from its eight planes. False if it is 0 in all of
// them, as the upper bytes of counts are.
template <typename Transpose>
bool gather_byte(const std::byte* planes, std::size_t stride, __m256i out[8]) {
  __m256i rows[8];
  for (std::size_t bit = 0; bit < 8; ++bit) {
    rows[bit] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(planes + bit * stride));
  }
  const __m256i any =
      _mm256_or_si256(_mm256_or_si256(_mm256_or_si256(rows[0], rows[1]), _mm256_or_si256(rows[2], rows[3])),
                      _mm256_or_si256(_mm256_or_si256(rows[4], rows[5]), _mm256_or_si256(rows[6], rows[7])));
  if (_mm256_testz_si256(any, any)) {
    for (int v = 0; v < 8; ++v) out[v] = _mm256_setzero_si256();
    return false;
  }
  Transpose::apply(rows, out);
  return true;
}

inline void put(std::uint32_t* pixels, __m256i values) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(pixels), values);
}

inline void put_words(std::uint32_t* pixels, __m256i words) {
  put(pixels, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(words)));
  put(pixels + 128, _mm256_cvtepu16_epi32(_mm256_extracti128_si256(words, 1)));
}

template <std::size_t kSize, typename Transpose>
void gather_256(const std::byte* planes, std::size_t stride, std::uint32_t* pixels) {
  __m256i bytes[kSize][8];
  bool words = false, more = false;  // whether a byte above the first is not 0, and above the second
  gather_byte<Transpose>(planes, stride, bytes[0]);
  if constexpr (kSize > 1) words = gather_byte<Transpose>(planes + 8 * stride, stride, bytes[1]);
  if constexpr (kSize > 2) {
    more = gather_byte<Transpose>(planes + 16 * stride, stride, bytes[2]);
    more = gather_byte<Transpose>(planes + 24 * stride, stride, bytes[3]) || more;
  }
  if (!words && !more) {
    for (int v = 0; v < 8; ++v, pixels += 16) {
      const __m128i low = _mm256_castsi256_si128(bytes[0][v]);
      const __m128i high = _mm256_extracti128_si256(bytes[0][v], 1);
      put(pixels, _mm256_cvtepu8_epi32(low));
      put(pixels + 8, _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(low, low)));
      put(pixels + 128, _mm256_cvtepu8_epi32(high));
      put(pixels + 136, _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(high, high)));
    }
    return;
  }
  if constexpr (kSize > 1) {
    for (int v = 0; v < 8; ++v, pixels += 16) {
      const __m256i low = _mm256_unpacklo_epi8(bytes[0][v], bytes[1][v]);
      const __m256i high = _mm256_unpackhi_epi8(bytes[0][v], bytes[1][v]);
      if (!more) {
        put_words(pixels, low);
        put_words(pixels + 8, high);
        continue;
      }
      if constexpr (kSize > 2) {
        const __m256i upper_low = _mm256_unpacklo_epi8(bytes[2][v], bytes[3][v]);
        const __m256i upper_high = _mm256_unpackhi_epi8(bytes[2][v], bytes[3][v]);
        const __m256i a = _mm256_unpacklo_epi16(low, upper_low), b = _mm256_unpackhi_epi16(low, upper_low);
        const __m256i c = _mm256_unpacklo_epi16(high, upper_high),
                      d = _mm256_unpackhi_epi16(high, upper_high);
        put(pixels, _mm256_permute2x128_si256(a, b, 0x20));
        put(pixels + 8, _mm256_permute2x128_si256(c, d, 0x20));
        put(pixels + 128, _mm256_permute2x128_si256(a, b, 0x31));
        put(pixels + 136, _mm256_permute2x128_si256(c, d, 0x31));
      }
    }
  }
}

template <std::size_t kSize, typename Transpose>
void gather_pixels(const std::byte* planes, std::size_t stride, std::size_t groups, std::uint32_t* pixels) {
  for (; groups >= kVectorGroups; groups -= kVectorGroups) {
    gather_256<kSize, Transpose>(planes, stride, pixels);
    planes += kVectorGroups;
    pixels += 8 * kVectorGroups;
  }
  if (groups == 0) return;
  std::uint32_t last[8 * kVectorGroups];
  gather_256<kSize, Transpose>(planes, stride, last);
  __builtin_memcpy(pixels, last, 8 * groups * sizeof(std::uint32_t));
}

}  // namespace
}  // namespace annulus
