// A convolution along the translation: the value at the position p is the sum of tap[p - q] x the cell at q, in the
// order of q. Between two positions, PHASES values are computed, each with taps of its own.
//
// TAP_STEP 2: besides the tap of distance 0, which comes first, only those of odd distance are not 0.

// One work-item for LANES bins of a value: (value and bins, angle). Arrays are [angle][position][bins],
// [angle][phase][2 reach + 1] and [angle][value][bins].
kernel void filter_projections(global const float* sinogram, ulong cells, uint positions, global const float* taps,
                               ulong tap_count, uint reach, int first, uint values, uint bins, uint items_a_value,
                               global float* filtered, ulong filtered_count, volatile global uint* violations) {
  const uint value = get_global_id(0) / items_a_value;
  const uint lane = get_global_id(0) % items_a_value * LANES;
  const uint angle = get_global_id(1);
  if (value >= values) return;
  const int place = first + (int)(value / PHASES);
  const ulong row = (ulong)angle * positions;
  // The tap that the cell at position 0 takes.
  const ulong tap = ((ulong)angle * PHASES + value % PHASES) * (2 * reach + 1) + (uint)((int)reach + place);
  FLOATS sums[VECTORS];
  for (uint v = 0; v < VECTORS; ++v) sums[v] = 0;
  uint from = 0;
#if TAP_STEP == 2
  if (place >= 0 && place < (int)positions) {
    const FLOATS share = AT(taps, tap - (uint)place, tap_count);
    const ulong cell = (row + (uint)place) * bins + lane;
    for (uint v = 0; v < VECTORS; ++v) {
      sums[v] = fma(share, LOAD_FLOATS(sinogram, cell + v * WIDTH, cells), sums[v]);
    }
  }
  from = (place & 1) == 0 ? 1 : 0;
#endif
  for (uint q = from; q < positions; q += TAP_STEP) {
    const FLOATS share = AT(taps, tap - q, tap_count);
    const ulong cell = (row + q) * bins + lane;
    for (uint v = 0; v < VECTORS; ++v) {
      sums[v] = fma(share, LOAD_FLOATS(sinogram, cell + v * WIDTH, cells), sums[v]);
    }
  }
  const ulong out = ((ulong)angle * values + value) * bins + lane;
  for (uint v = 0; v < VECTORS; ++v) STORE_FLOATS(sums[v], filtered, out + v * WIDTH, filtered_count);
}
