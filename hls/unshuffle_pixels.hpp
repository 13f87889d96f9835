// Bit planes to pixels: a transposition of 128 pixels at a time, of which 16 leave in a clock.
//
// Bit b of pixel i is bit i of plane b. A tile is 16 bytes of each plane; while its vectors leave, the next
// is gathered from beats of four planes.
#pragma once

#include "block_streams.hpp"

namespace kernels {

struct Tile {
  uint64_t low[kPlanes];   // bits of the first 64 pixels
  uint64_t high[kPlanes];  // of the others
  uint32_t pixels;         // in it
  bool stored;             // not planes, but the bytes of up to 7 pixels
};

// Beat `group` of the tile.
inline void put_planes(Tile& tile, uint32_t group, const PlaneBeat& beat) {
#pragma HLS INLINE
each_plane:
  for (uint32_t plane = 0; plane < kPlanes; ++plane) {
#pragma HLS UNROLL
    if (plane / 4 == group) {
      tile.low[plane] = beat.low[plane % 4];
      tile.high[plane] = beat.high[plane % 4];
    }
  }
}

// Of the lowest 8 << shift bits.
inline int32_t extend_pixel(uint32_t bits, uint32_t shift, bool is_signed) {
#pragma HLS INLINE
  const auto byte = static_cast<uint8_t>(bits);
  const auto half = static_cast<uint16_t>(bits);
  const int32_t from8 = is_signed ? static_cast<int8_t>(byte) : static_cast<int32_t>(byte);
  const int32_t from16 = is_signed ? static_cast<int16_t>(half) : static_cast<int32_t>(half);
  return shift == 0 ? from8 : shift == 1 ? from16 : static_cast<int32_t>(bits);
}

// The next kWidth pixels of the tile, which has them no more afterwards.
template <int kWidth>
inline void take_vector(Tile& tile, uint32_t shift, bool is_signed, int32_t (&value)[kWidth]) {
#pragma HLS INLINE
  const uint64_t bytes[4] = {tile.low[0], tile.high[0], tile.low[1], tile.high[1]};
#pragma HLS ARRAY_PARTITION variable = bytes complete dim = 1
each_lane:
  for (uint32_t lane = 0; lane < kWidth; ++lane) {
#pragma HLS UNROLL
    uint32_t bits = 0;
  transpose:
    for (uint32_t plane = 0; plane < kPlanes; ++plane) {
#pragma HLS UNROLL
      bits |= static_cast<uint32_t>(tile.low[plane] >> lane & 1) << plane;
    }
    const uint32_t at = (lane << shift) % 32;
    if (tile.stored) bits = static_cast<uint32_t>(bytes[at / 8] >> at % 8 * 8);
    value[lane] = extend_pixel(bits, shift, is_signed);
  }
shift_planes:
  for (uint32_t plane = 0; plane < kPlanes; ++plane) {
#pragma HLS UNROLL
    tile.low[plane] = tile.low[plane] >> kWidth | tile.high[plane] << (64 - kWidth);
    tile.high[plane] >>= kWidth;
  }
  tile.pixels = tile.pixels > kWidth ? tile.pixels - kWidth : 0;
}

}  // namespace kernels
