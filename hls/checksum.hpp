// A checksum over beats of sums, taken while they are written, so that the host knows that it has read them.
//
// The sum of all words, each times an odd number of its own: word i of the b-th beat from the end, counted
// from 1, has the weight 16 b + 15 - 2 i. An odd weight turns no difference into 0, so no flipped bit passes;
// different weights notice words and beats that change places, are old, or were never written. Additions
// only: what is fed back from beat to beat is one addition of 64 bits in each of two sums.
#pragma once

#include "layout.hpp"

namespace kernels {

struct Checksum {
  uint64_t total;  // of all words
  uint64_t value;  // with their weights: the checksum
};

inline void add_beat(Checksum& checksum, const SumBeat& beat) {
#pragma HLS INLINE
  uint64_t total = 0;
  uint64_t ranked = 0;  // word i comes 8 - i times
each_word:
  for (int i = 0; i < 2 * kBanks; ++i) {
#pragma HLS UNROLL
    total += static_cast<uint64_t>(beat.sum[i]);
    ranked += total;
  }
  checksum.total += total;
  checksum.value += 16 * checksum.total + 2 * ranked - total;
}
static_assert(2 * (2 * kBanks) - 1 < 16, "the weights within a beat stay below the step from beat to beat");

}  // namespace kernels
