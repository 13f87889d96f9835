// Integration by rows of the matrix: a work-group a bin, which reads the bin's pixels and adds up in local memory. For
// devices with many work-items, and for many bins.

#define QUANTITIES 5

// The sum over a work-group, in its first work-item.
long4 reduce_group(long4 value, local long4* scratch) {
  const uint item = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  scratch[item] = value;
  uint count = get_local_size(0);
  while (count > 1) {
    const uint half_count = (count + 1) / 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item + half_count < count) scratch[item] += scratch[item + half_count];
    count = half_count;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return scratch[0];
}

void store_row(global long* results, ulong at, uint bins, uint lane, uint frame_count, long4 sum,
               ulong result_entries, volatile global uint* violations) {
  const long sums[4] = {sum.s0, sum.s1, sum.s2, sum.s3};
  for (uint i = 0; i < 4 && lane + i < frame_count; ++i) {
    AT(results, at + (ulong)(lane + i) * bins, result_entries) = sums[i];
  }
}

// Groups: (bin, four frames). Results are [quantity][frame][bin]: signal, variance, missing normalisation, counts and
// dark. `scratch` has room for one number a work-item.
kernel void integrate_rows(PlanNumbers plan, global const uint* rows, global const uint* row_pixels,
                           global const uint* row_weights, global const int* normalization, global const int* dark,
                           Band band, global const int* pixels, ulong pixel_entries, uint frame_count,
                           global const uint* one_counts, global long* results, ulong result_entries,
                           global uint* invalid_counts, local long4* scratch, volatile global uint* violations) {
  const uint bin = get_group_id(0);
  const uint lane = 4 * get_group_id(1);
  const uint end = AT(rows, bin + 1, (ulong)plan.bins + 1);
  long4 signal = 0;
  long4 variance = 0;
  long4 missing_normalization = 0;
  long4 missing_count = 0;
  long4 missing_dark = 0;
  for (uint entry = AT(rows, bin, (ulong)plan.bins + 1) + get_local_id(0); entry < end;
       entry += get_local_size(0)) {
    const uint pixel = AT(row_pixels, entry, plan.entries);
    const uint coded = AT(row_weights, entry, plan.entries);
    const long weight = coded & WEIGHT;
    Pixel values[4];
    long counted[4];
    long bad[4];
    long any_bad = 0;
    for (uint i = 0; i < 4; ++i) {
      values[i] = 0;
      counted[i] = 0;
      bad[i] = 0;
      if (lane + i >= frame_count) continue;
      const Pixel value = AS_PIXEL(AT(pixels, (ulong)(lane + i) * band.stride + pixel, pixel_entries));
      if (IS_PLAIN(value, plan) || IS_VALID(value, plan)) {
        values[i] = value;
        counted[i] = max(value, AS_PIXEL(AT(one_counts, lane + i, LANES)));
      } else {
        bad[i] = -1;
        any_bad = -1;
        if (coded & FIRST_ENTRY) atomic_inc(&AT(invalid_counts, lane + i, frame_count));
      }
    }
    signal += (long4)(values[0], values[1], values[2], values[3]) * weight;
    if (plan.has_variance) {
      variance += (long4)(counted[0], counted[1], counted[2], counted[3]) *
                  squared((uint)weight, plan.square_shift);
    }
    if (any_bad) {
      const long4 mask = (long4)(bad[0], bad[1], bad[2], bad[3]);
      missing_normalization += mask & (weight * AT(normalization, pixel, plan.pixels));
      missing_count += mask & weight;
      if (plan.has_dark) missing_dark += mask & (weight * AT(dark, pixel, plan.pixels));
    }
  }
  // Quantity by quantity, so that local memory holds one of them.
  const long4 sums[QUANTITIES] = {signal, variance, missing_normalization, missing_count, missing_dark};
  const uint wanted[QUANTITIES] = {1, plan.has_variance, 1, 1, plan.has_dark};
  ulong at = bin;
  for (uint i = 0; i < QUANTITIES; ++i) {
    const long4 sum = reduce_group(sums[i], scratch);
    if (!wanted[i]) continue;
    if (get_local_id(0) == 0) store_row(results, at, plan.bins, lane, frame_count, sum, result_entries, violations);
    at += (ulong)frame_count * plan.bins;
  }
}
