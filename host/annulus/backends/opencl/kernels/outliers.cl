// Which pixels a clip left out. Groups: (bin, frame). Sets the bits of pixels that are clipped in the bin, 32 in a word.
kernel void mark_outliers(PlanNumbers plan, RobustNumbers robust, global const uint* rows,
                          global const uint* row_pixels, global const uint* row_divisors, global const int* dark,
                          global const int* pixels, ulong pixel_entries, global const int* finer,
                          global const int4* windows, global const long* keys, global const long2* ranks,
                          volatile global uint* outliers, volatile global uint* violations) {
  const uint bin = get_group_id(0);
  const uint frame = get_group_id(1);
  const ulong place = (ulong)frame * plan.bins + bin;
  const ulong places = (ulong)robust.frames * plan.bins;
  const ulong words = (plan.pixels + 31) / 32;
  const uint end = AT(rows, bin + 1, (ulong)plan.bins + 1);
  for (uint entry = AT(rows, bin, (ulong)plan.bins + 1) + get_local_id(0); entry < end; entry += get_local_size(0)) {
    const uint pixel = AT(row_pixels, entry, plan.entries);
    bool out;
    if (robust.by_rank) {
      const long2 rank = AT(ranks, place, places);
      const long key = AT(keys, (ulong)frame * plan.entries + entry, (ulong)robust.frames * plan.entries);
      out = key != NO_KEY && (key < rank.x || key > rank.y);
    } else {
      const Value value = load_value(plan, robust, pixel, frame, pixels, pixel_entries, dark, finer, violations);
      out = value.is_valid && !holds(AT(windows, place, places), value.s, AT(row_divisors, entry, plan.entries));
    }
    if (out) atomic_or(&AT(outliers, frame * words + pixel / 32, robust.frames * words), 1u << pixel % 32);
  }
}
