// Integration by scattering: the sums of all bins are in a work-group's local memory, and its work-items take pixels in
// turn. Sums are pairs of 32-bit halves (add_shared). For devices whose local memory is fast, and few bins.

// The rare pixel that does not count: straight to the results.
void subtract_pixel(PlanNumbers plan, uint pixel, uint entry, uint end, global const uint* bins,
                    global const uint* weights, global const int* normalization, global const int* dark,
                    global uint* results, ulong at, ulong quantity, ulong halves, volatile global uint* violations) {
  const long share = AT(normalization, pixel, plan.pixels);
  const long dark_share = plan.has_dark ? AT(dark, pixel, plan.pixels) : 0;
  for (; entry < end; ++entry) {
    const long weight = AT(weights, entry, plan.entries) & WEIGHT;
    const ulong place = 2 * (at + AT(bins, entry, plan.entries));
    add_shared_global(results + INDEX(place, 2, halves), (ulong)(weight * share));
    add_shared_global(results + INDEX(place + 2 * quantity, 2, halves), (ulong)weight);
    if (plan.has_dark) {
      add_shared_global(results + INDEX(place + 4 * quantity, 2, halves), (ulong)(weight * dark_share));
    }
  }
}

// Groups: (share of the pixels, frame). Results as in integrate_rows, cleared before. `sums` has room for two numbers a
// bin, four with a variance.
kernel void integrate_local(PlanNumbers plan, global const uint* first, global const uint* bins,
                            global const uint* weights, global const int* normalization, global const int* dark,
                            Band band, global const int* pixels, ulong pixel_entries, uint frame_count,
                            global const uint* one_counts, global uint* results, ulong result_entries,
                            global uint* invalid_counts, local uint* sums, volatile global uint* violations) {
  const uint frame = get_group_id(1);
  const uint item = get_local_id(0);
  const uint items = get_local_size(0);
  const uint cells = plan.bins * (1 + plan.has_variance);
  for (uint i = item; i < 2 * cells; i += items) sums[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  const Pixel one = AS_PIXEL(AT(one_counts, frame, LANES));
  const ulong length = band.end - band.first;
  const uint begin = band.first + (uint)(length * get_group_id(0) / get_num_groups(0));
  const uint end = band.first + (uint)(length * (get_group_id(0) + 1) / get_num_groups(0));
  const ulong quantity = (ulong)frame_count * plan.bins;
  const ulong own = (ulong)frame * plan.bins;
  const ulong first_entries = (ulong)plan.pixels + 1;
  for (uint pixel = begin + item; pixel < end; pixel += items) {
    uint entry = AT(first, pixel, first_entries);
    const uint last = AT(first, pixel + 1, first_entries);
    if (entry == last) continue;
    const Pixel value =
        AS_PIXEL(AT(pixels, (ulong)frame * band.stride + (pixel - band.first), pixel_entries));
    if (!IS_PLAIN(value, plan) && !IS_VALID(value, plan)) {
      atomic_inc(&AT(invalid_counts, frame, frame_count));
      subtract_pixel(plan, pixel, entry, last, bins, weights, normalization, dark, results,
                     quantity * (1 + plan.has_variance) + own, quantity, 2 * result_entries, violations);
      continue;
    }
    const long wide = value;
    const long counted = max(value, one);
    for (; entry < last; ++entry) {
      const uint weight = AT(weights, entry, plan.entries) & WEIGHT;
      const uint bin = AT(bins, entry, plan.entries);
      add_shared_local(sums + 2 * bin, (ulong)(wide * weight));
      if (plan.has_variance) {
        add_shared_local(sums + 2 * (plan.bins + bin), (ulong)(counted * squared(weight, plan.square_shift)));
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < cells; i += items) {
    const ulong sum = (ulong)sums[2 * i + 1] << 32 | sums[2 * i];
    if (sum == 0) continue;
    const ulong at = own + (i < plan.bins ? i : quantity + i - plan.bins);
    add_shared_global(results + INDEX(2 * at, 2, 2 * result_entries), sum);
  }
}
