// Pixels of a band of rows, some angles at a time: where each lies among the values of a projection, then the sums, in
// the order of angles. The first is the same for all bins and needs doubles, of which many devices compute few. Some
// angles: what neighbours need of their projections stays in a cache.

// The pixel, counted from the first of the band, is in the circle. Spans are the columns [begin, end) of each row.
bool in_circle(uint pixel, uint top, uint size, global const uint* spans, volatile global uint* violations) {
  const uint row = top + pixel / size;
  const uint column = pixel % size;
  return column >= AT(spans, 2 * row, 2 * size) && column < AT(spans, 2 * row + 1, 2 * size);
}

// One work-item for an angle of a pixel: (angle, pixel). Of TAPS values of the projection, beginning with firsts[pixel][angle],
// the pixel takes shares[pixel][angle][TAPS].
kernel void place_pixels(double origin, global const double* cosines, global const double* sines, uint all_angles,
                         uint first_angle, uint angles, uint size, uint top, uint pixels, global const uint* spans,
                         global const float* table, global uint* firsts, global float* shares, volatile global uint* violations) {
  const uint angle = get_global_id(0);
  const uint pixel = get_global_id(1);
  if (angle >= angles || !in_circle(pixel, top, size, spans, violations)) return;
  const int centre = (int)(size / 2);
  const double y = (double)((int)(top + pixel / size) - centre);
  const double x = (double)((int)(pixel % size) - centre);
  const double t = place_of(origin, y, AT(sines, first_angle + angle, all_angles), x,
                            AT(cosines, first_angle + angle, all_angles));
  const int before = (int)t;
  const double part = t - (double)before;
  const ulong entries = (ulong)pixels * angles;
  const ulong entry = (ulong)pixel * angles + angle;
  AT(firsts, entry, entries) = (uint)(before - (TAPS / 2 - 1));
#if TAPS == 2
  const float share = (float)part;
  AT(shares, 2 * entry, 2 * entries) = 1 - share;
  AT(shares, 2 * entry + 1, 2 * entries) = share;
#else
  // Between two rows of the table [TABLE_STEPS + 1][TAPS].
  const double at = part * TABLE_STEPS;
  const int step = (int)at;
  const uint low = (uint)step * TAPS;
  const uint high = low + (step < TABLE_STEPS ? TAPS : 0);
  const float rest = (float)(at - (double)step);
  for (uint k = 0; k < TAPS; ++k) {
    AT(shares, TAPS * entry + k, TAPS * entries) =
        between(AT(table, low + k, (TABLE_STEPS + 1) * TAPS), AT(table, high + k, (TABLE_STEPS + 1) * TAPS), rest);
  }
#endif
}

// One work-item for LANES bins of a pixel. Arrays are [angle][value][bins] and [pixel][bins]. The sums of angles before
// `first_angle` are in the tomogram.
kernel void back_project(global const float* filtered, ulong filtered_count, uint values, uint first_angle, uint angles,
                         uint bins, uint items_a_pixel, uint size, uint top, uint pixels, global const uint* spans,
                         global const uint* firsts, global const float* shares, global float* tomogram,
                         volatile global uint* violations) {
  const uint pixel = get_global_id(0) / items_a_pixel;
  const uint lane = get_global_id(0) % items_a_pixel * LANES;
  if (pixel >= pixels) return;
  const ulong out = (ulong)pixel * bins + lane;
  const ulong outs = (ulong)pixels * bins;
  FLOATS sums[VECTORS];
  for (uint v = 0; v < VECTORS; ++v) {
    sums[v] = first_angle == 0 ? 0 : LOAD_FLOATS(tomogram, out + v * WIDTH, outs);
  }
  if (in_circle(pixel, top, size, spans, violations)) {
    const ulong entries = (ulong)pixels * angles;
    for (uint angle = 0; angle < angles; ++angle) {
      const ulong entry = (ulong)pixel * angles + angle;
      const ulong value = ((ulong)(first_angle + angle) * values + AT(firsts, entry, entries)) * bins + lane;
      for (uint k = 0; k < TAPS; ++k) {
        const FLOATS share = AT(shares, TAPS * entry + k, TAPS * entries);
        for (uint v = 0; v < VECTORS; ++v) {
          sums[v] = fma(share, LOAD_FLOATS(filtered, value + k * bins + v * WIDTH, filtered_count), sums[v]);
        }
      }
    }
  }
  for (uint v = 0; v < VECTORS; ++v) STORE_FLOATS(sums[v], tomogram, out + v * WIDTH, outs);
}
