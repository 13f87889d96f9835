// What one entry of the table says about its pixel.
#pragma once

#include "streams.hpp"

namespace kernels {

// `remaining`: what the pixel's earlier shares left of its 2^weight_bits.
inline Footprint unpack_share(TableEntry entry, uint32_t remaining) {
#pragma HLS INLINE
  constexpr uint32_t kShareMask = (uint32_t{1} << kShareBits) - 1;
  Footprint share;
  share.first_bin = static_cast<uint16_t>(entry);
  share.weight[1] = static_cast<uint32_t>(entry >> kBinBits) & kShareMask;
  share.weight[2] = static_cast<uint32_t>(entry >> (kBinBits + kShareBits)) & kShareMask;
  share.closes = (entry & kCloses) != 0;
  share.weight[0] = share.closes ? remaining - share.weight[1] - share.weight[2] : 0;
  return share;
}

inline bool has_weight(const Footprint& share) {
#pragma HLS INLINE
  return (share.weight[0] | share.weight[1] | share.weight[2]) != 0;
}

// The part of a share that falls into one bank: a bin of bank b has the row bin / kBanks.
struct BankShare {
  uint32_t row;
  uint32_t weight;  // 0: nothing
};

inline BankShare share_of_bank(const Footprint& share, uint32_t bank) {
#pragma HLS INLINE
  const uint32_t offset = (bank - share.first_bin) % kBanks;
  BankShare part;
  part.weight = offset < 3 ? share.weight[offset] : 0;
  part.row = (share.first_bin + offset) / kBanks % kRows;
  return part;
}

// The square of a weight in units of 2^-variance_bits, rounded, at least one; shift = 2 weight_bits -
// variance_bits.
inline uint32_t square_weight(uint32_t weight, uint32_t shift) {
#pragma HLS INLINE
  const uint64_t half = shift > 0 ? uint64_t{1} << (shift - 1) : 0;
  const uint64_t square = (uint64_t{weight} * weight + half) >> shift;
  return square > 0 ? static_cast<uint32_t>(square) : 1;
}
static_assert(2 * (kMaxWeightBits + 1) < 64, "the square of a weight and its rounding fit 64 bits");

}  // namespace kernels
