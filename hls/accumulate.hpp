// Adds to a memory whose writes are still under way when the next address is read.
//
// An on-chip memory answers some clocks after it was asked, so a sum is written several updates after it was
// read. The last kInFlight sums are kept beside the memory, and where one of them has the address it is taken
// instead of what the memory said: an update never waits, however often it hits the same bin.
#pragma once

#include "config.hpp"

namespace kernels {

// Sums that share an address.
template <int kQuantities>
struct Sums {
  int64_t of[kQuantities];
};

// The last sums of one bank, newest first.
template <int kQuantities>
struct InFlight {
  uint32_t row[kInFlight];
  bool used[kInFlight];
  Sums<kQuantities> sum[kInFlight];
};

// Before the first update. Not a default of the members: arrays of such structs would get a loop of
// constructors, which cannot be unrolled.
template <int kQuantities>
inline void forget(InFlight<kQuantities>& recent) {
#pragma HLS INLINE
each:
  for (int i = 0; i < kInFlight; ++i) {
#pragma HLS UNROLL
    recent.used[i] = false;
  }
}

// The sum to write to `row`, given what the memory had there at most kInFlight updates ago.
template <int kQuantities>
inline Sums<kQuantities> add_forwarded(InFlight<kQuantities>& recent, uint32_t row,
                                       const Sums<kQuantities>& stored, const Sums<kQuantities>& change) {
#pragma HLS INLINE
  Sums<kQuantities> sum = stored;
newest_last:
  for (int i = kInFlight - 1; i >= 0; --i) {
#pragma HLS UNROLL
    if (recent.used[i] && recent.row[i] == row) sum = recent.sum[i];
  }
add:
  for (int q = 0; q < kQuantities; ++q) {
#pragma HLS UNROLL
    sum.of[q] += change.of[q];
  }
shift:
  for (int i = kInFlight - 1; i > 0; --i) {
#pragma HLS UNROLL
    recent.row[i] = recent.row[i - 1];
    recent.used[i] = recent.used[i - 1];
    recent.sum[i] = recent.sum[i - 1];
  }
  recent.row[0] = row;
  recent.used[0] = true;
  recent.sum[0] = sum;
  return sum;
}

}  // namespace kernels
