#include <annulus/codecs/bit_planes.hpp>

#include <bit>
#include <cstring>

namespace annulus {

#if defined(__x86_64__)
GatherPixels pixel_gatherer_avx2(std::size_t element_size);
GatherPixels pixel_gatherer_gfni(std::size_t element_size);
#endif

namespace {

static_assert(std::endian::native == std::endian::little, "planes are read as they lie in memory");

// Bit k of byte b becomes bit b of byte k: squares of 1, 2 and 4 bits change places across the diagonal.
std::uint64_t transpose_bits(std::uint64_t x) {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aau;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000cccc0000ccccu;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0u;
  return x ^ t ^ (t << 28);
}

// One byte of eight elements, from eight planes.
std::uint64_t gather_bytes(const std::byte* planes, std::size_t stride) {
  std::uint64_t word = 0;
  for (std::size_t bit = 0; bit < 8; ++bit) {
    word |= std::to_integer<std::uint64_t>(planes[bit * stride]) << (8 * bit);
  }
  return transpose_bits(word);
}

constexpr std::size_t kWordGroups = sizeof(std::uint64_t);

// Squares of kDistance bits change places between words, as in transpose_bits between bytes.
template <int kDistance>
void swap_bits(std::uint64_t words[8], std::uint64_t mask) {
  for (int i = 0; i < 8; ++i) {
    if (i & kDistance) continue;
    const std::uint64_t t = ((words[i] >> kDistance) ^ words[i + kDistance]) & mask;
    words[i + kDistance] ^= t;
    words[i] ^= t << kDistance;
  }
}

// Adds one byte to 64 pixels, from eight bytes of each of its planes.
void add_bytes(const std::byte* planes, std::size_t stride, std::size_t byte, std::uint32_t* pixels) {
  std::uint64_t words[8];
  std::uint64_t any = 0;
  for (std::size_t bit = 0; bit < 8; ++bit) {
    std::memcpy(&words[bit], planes + bit * stride, sizeof(std::uint64_t));
    any |= words[bit];
  }
  if (any == 0) return;  // as in the upper bytes of counts
  swap_bits<1>(words, 0x5555555555555555u);
  swap_bits<2>(words, 0x3333333333333333u);
  swap_bits<4>(words, 0x0f0f0f0f0f0f0f0fu);
  for (std::size_t group = 0; group < kWordGroups; ++group) {
    for (std::size_t k = 0; k < 8; ++k) {
      pixels[8 * group + k] |= static_cast<std::uint32_t>(words[k] >> (8 * group) & 0xff) << (8 * byte);
    }
  }
}

template <std::size_t kSize>
void gather_pixels_generic(const std::byte* planes, std::size_t stride, std::size_t groups,
                           std::uint32_t* pixels) {
  std::memset(pixels, 0, 8 * groups * sizeof(std::uint32_t));
  std::size_t group = 0;
  for (; group + kWordGroups <= groups; group += kWordGroups) {
    for (std::size_t byte = 0; byte < kSize; ++byte) {
      add_bytes(planes + group + 8 * byte * stride, stride, byte, pixels + 8 * group);
    }
  }
  for (; group < groups; ++group) {
    for (std::size_t byte = 0; byte < kSize; ++byte) {
      const std::uint64_t word = gather_bytes(planes + group + 8 * byte * stride, stride);
      for (std::size_t k = 0; k < 8; ++k) {
        pixels[8 * group + k] |= static_cast<std::uint32_t>(word >> (8 * k) & 0xff) << (8 * byte);
      }
    }
  }
}

}  // namespace

GatherPixels pixel_gatherer(std::size_t element_size, InstructionSet set) {
#if defined(__x86_64__)
  // What AVX-512 has to offer here are the products of bit matrices, which machines with it have since 2019.
  static const bool has_products = __builtin_cpu_supports("gfni");
  if (set == InstructionSet::kAvx512 && has_products) return pixel_gatherer_gfni(element_size);
  if (set != InstructionSet::kGeneric) return pixel_gatherer_avx2(element_size);
#endif
  static_cast<void>(set);
  if (element_size == 1) return gather_pixels_generic<1>;
  return element_size == 2 ? gather_pixels_generic<2> : gather_pixels_generic<4>;
}

void gather_elements(const std::byte* planes, std::size_t element_size, std::size_t elements,
                     std::byte* out) {
  const std::size_t stride = elements / 8;
  for (std::size_t group = 0; group < stride; ++group) {
    for (std::size_t byte = 0; byte < element_size; ++byte) {
      const std::uint64_t word = gather_bytes(planes + group + 8 * byte * stride, stride);
      for (std::size_t k = 0; k < 8; ++k) {
        out[(8 * group + k) * element_size + byte] = static_cast<std::byte>(word >> (8 * k));
      }
    }
  }
}

void scatter_elements(const std::byte* in, std::size_t element_size, std::size_t elements,
                      std::byte* planes) {
  const std::size_t stride = elements / 8;
  for (std::size_t group = 0; group < stride; ++group) {
    for (std::size_t byte = 0; byte < element_size; ++byte) {
      std::uint64_t word = 0;
      for (std::size_t k = 0; k < 8; ++k) {
        word |= std::to_integer<std::uint64_t>(in[(8 * group + k) * element_size + byte]) << (8 * k);
      }
      word = transpose_bits(word);
      for (std::size_t bit = 0; bit < 8; ++bit) {
        planes[group + (8 * byte + bit) * stride] = static_cast<std::byte>(word >> (8 * bit));
      }
    }
  }
}

}  // namespace annulus
