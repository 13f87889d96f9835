// Integration with frames side by side in the lanes of a vector. Each work-item has pixels and sums of its own, so
// nothing is shared; an entry of the plan is read once for all frames. For devices with wide vectors and caches.

// Four rounds of interleaving turn rows into columns.
void transpose(Pixel16* rows) {
  for (int round = 0; round < 4; ++round) {
    Pixel16 next[LANES];
#pragma unroll
    for (int i = 0; i < LANES / 2; ++i) {
      const Pixel16 a = rows[i];
      const Pixel16 b = rows[i + LANES / 2];
      next[2 * i] = (Pixel16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6,
                              a.s7, b.s7);
      next[2 * i + 1] = (Pixel16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se,
                                  a.sf, b.sf);
    }
#pragma unroll
    for (int i = 0; i < LANES; ++i) rows[i] = next[i];
  }
}

void add_lanes(global long* sums, ulong place, ulong count, long16 value, volatile global uint* violations) {
  STORE(16, LOAD(16, sums, place, count) + value, sums, place, count);
}

// Sums are [work-item][bin][lane]. `missing` has those of the normalisation, of the counts and of the dark, one after
// the other.
kernel void integrate_lanes(PlanNumbers plan, global const uint* first, global const uint* bins,
                            global const uint* weights, global const int* normalization, global const int* dark,
                            Band band, global const int* pixels, ulong pixel_entries, uint frame_count,
                            global const uint* one_counts, global long* signal, global long* variance,
                            global long* missing, ulong sum_entries, global uint* invalid,
                            volatile global uint* violations) {
  const uint item = get_global_id(0);
  const uint items = get_global_size(0);
  const ulong own = (ulong)item * plan.bins * LANES;
  const uint chunks = (band.end - band.first + LANES - 1) / LANES;
  const uint chunk_end = (uint)((ulong)chunks * (item + 1) / items);
  const Pixel16 one = AS_PIXEL16(LOAD(16, one_counts, 0, LANES));
  const ulong first_entries = (ulong)plan.pixels + 1;
  const ulong variance_entries = sum_entries * plan.has_variance;
  const ulong missing_entries = sum_entries * (2 + plan.has_dark);

  for (uint chunk = (uint)((ulong)chunks * item / items); chunk < chunk_end; ++chunk) {
    const uint place = chunk * LANES;
    const uint start = band.first + place;
    const uint count = min((uint)LANES, band.end - start);
    if (AT(first, start, first_entries) == AT(first, start + count, first_entries)) continue;
    Pixel16 rows[LANES];
#pragma unroll
    for (uint lane = 0; lane < LANES; ++lane) {
      rows[lane] = (Pixel16)(0);
      if (lane < frame_count) {
        rows[lane] = AS_PIXEL16(LOAD(16, pixels, (ulong)lane * band.stride + place, pixel_entries));
      }
    }
    transpose(rows);

    // Pixels that are not used have no say: many are gaps, with values that are not valid.
    int16 strange = 0;
    for (uint i = 0; i < count; ++i) {
      if (AT(first, start + i, first_entries) == AT(first, start + i + 1, first_entries)) continue;
      strange |= (as_uint16(rows[i]) - plan.plain_low) >= plan.plain_count;
    }
    const bool plain = !any(strange);
    for (uint i = 0; i < count; ++i) {
      const uint end = AT(first, start + i + 1, first_entries);
      uint entry = AT(first, start + i, first_entries);
      if (entry == end) continue;
      Pixel16 value = rows[i];
      Pixel16 counted = max(value, one);
      if (!plain) {
        const int16 bad = (value < plan.low) | (value > plan.high) |
                          ((value >= plan.dummy_low) & (value <= plan.dummy_high));
        if (any(bad)) {
          value = select(value, (Pixel16)(0), as_uint16(bad));
          counted = select(counted, (Pixel16)(0), as_uint16(bad));
          const ulong counts = (ulong)item * LANES;
          const ulong all_counts = (ulong)items * LANES;
          STORE(16, LOAD(16, invalid, counts, all_counts) + (as_uint16(bad) & 1), invalid, counts, all_counts);
          const long16 mask = convert_long16(bad);
          const long share = AT(normalization, start + i, plan.pixels);
          const long dark_share = plan.has_dark ? AT(dark, start + i, plan.pixels) : 0;
          for (uint e = entry; e < end; ++e) {
            const long weight = AT(weights, e, plan.entries) & WEIGHT;
            const ulong at = own + (ulong)AT(bins, e, plan.entries) * LANES;
            add_lanes(missing, at, missing_entries, mask & (weight * share), violations);
            add_lanes(missing, sum_entries + at, missing_entries, mask & weight, violations);
            if (plan.has_dark) {
              add_lanes(missing, 2 * sum_entries + at, missing_entries, mask & (weight * dark_share), violations);
            }
          }
        }
      }
      const long16 wide = convert_long16(value);
      const long16 wide_counted = convert_long16(counted);
      for (; entry < end; ++entry) {
        const uint weight = AT(weights, entry, plan.entries) & WEIGHT;
        const ulong at = own + (ulong)AT(bins, entry, plan.entries) * LANES;
        add_lanes(signal, at, sum_entries, wide * (long)weight, violations);
        if (plan.has_variance) {
          add_lanes(variance, at, variance_entries, wide_counted * squared(weight, plan.square_shift), violations);
        }
      }
    }
  }
}

// Adds up what the work-items of integrate_lanes have: (bin, lane) to [lane][bin]. Where `only_missing`, frames without
// invalid pixels are left as they are.
kernel void add_partial_sums(uint bins, uint items, global const long* sums, ulong from, ulong sum_entries,
                             uint only_missing, global const uint* invalid_counts, uint frame_count,
                             global long* results, ulong to, ulong result_entries, volatile global uint* violations) {
  const uint bin = get_global_id(0);
  const uint lane = get_global_id(1);
  if (bin >= bins) return;
  if (only_missing && AT(invalid_counts, lane, frame_count) == 0) return;
  long sum = 0;
  for (uint item = 0; item < items; ++item) {
    sum += AT(sums, from + ((ulong)item * bins + bin) * LANES + lane, sum_entries);
  }
  AT(results, to + (ulong)lane * bins + bin, result_entries) = sum;
}

// One work-item a lane.
kernel void add_partial_counts(uint items, global const uint* invalid, global uint* invalid_counts, uint frame_count,
                               volatile global uint* violations) {
  const uint lane = get_global_id(0);
  uint sum = 0;
  for (uint item = 0; item < items; ++item) sum += AT(invalid, (ulong)item * LANES + lane, (ulong)items * LANES);
  AT(invalid_counts, lane, frame_count) = sum;
}
