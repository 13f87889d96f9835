// Sums for the spread of pixels and of what a clip leaves, by rows of the matrix: a work-group has a bin of a frame.
// Integers only, so they are those of plan/spread_table.hpp and plan/sigma_clip.hpp whatever the order.

typedef struct {
  uint square_shift;   // of a squared weight, here: not that of variances
  uint dark_shift;     // bits by which s is finer than a frame's counts
  uint by_rank;        // what lies between two ranks counts; else what a window holds
  uint count_invalid;  // a frame's invalid pixels are counted in one pass
  uint wanted;         // a bit for each of SUM_WORDS
  uint words;          // how many of these are set
  uint stride;         // between the pixels of frames
  uint frames;
} RobustNumbers;

#define SUM_WORDS 12
#define WANTS_SQUARES 4u  // the third of them
#define VALUE_BITS 39  // |s| is at most 2^VALUE_BITS
#define NO_KEY LONG_MAX

// The last number of a window. A bin whose window is as before has its sums already.
#define WINDOW_OPEN 1
#define WINDOW_AS_BEFORE 2

// Numbers of 128 bits in two's complement, the lower half first.
ulong2 add_wide(ulong2 a, ulong2 b) {
  const ulong low = a.x + b.x;
  return (ulong2)(low, a.y + b.y + (low < a.x ? 1 : 0));
}
ulong2 multiply(long a, long b) { return (ulong2)((ulong)a * (ulong)b, (ulong)mul_hi(a, b)); }
ulong2 multiply_wide(ulong2 a, ulong b) { return (ulong2)(a.x * b, mul_hi(a.x, b) + a.y * b); }

// A dark in units of s, which are finer by so many bits than the plan's.
long dark_value(int dark, int finer) {
  if (finer >= 0) {
    const int shift = min(finer, VALUE_BITS);
    const long most = (1L << (VALUE_BITS - 1)) >> shift;
    return clamp((long)dark, -most, most) * (1L << shift);
  }
  const int shift = min(-finer, VALUE_BITS);
  return ((long)dark + (1L << (shift - 1))) >> shift;
}

// low x n <= s x 2^shift <= high x n
bool holds(int4 window, long s, uint n) {
  if (window.w & WINDOW_OPEN) return true;
  return (((long)window.y * n) >> window.z) >= s && -((-(long)window.x * n) >> window.z) <= s;
}

// A pixel in a frame.
typedef struct {
  bool is_valid;
  long raw;
  long s;
} Value;

Value load_value(PlanNumbers plan, RobustNumbers robust, uint pixel, uint frame, global const int* pixels,
                 ulong pixel_entries, global const int* dark, global const int* finer, volatile global uint* violations) {
  const Pixel raw = AS_PIXEL(AT(pixels, (ulong)frame * robust.stride + pixel, pixel_entries));
  Value value = {IS_PLAIN(raw, plan) || IS_VALID(raw, plan), raw, (long)raw * (1L << robust.dark_shift)};
  if (plan.has_dark) value.s -= dark_value(AT(dark, pixel, plan.pixels), AT(finer, frame, LANES));
  return value;
}

// The sum over a work-group, for all of its work-items. `wide`: the halves are one number, else two.
ulong2 reduce_wide(ulong2 value, bool wide, local ulong2* scratch) {
  const uint item = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  scratch[item] = value;
  uint count = get_local_size(0);
  while (count > 1) {
    const uint half_count = (count + 1) / 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item + half_count < count) {
      const ulong2 other = scratch[item + half_count];
      scratch[item] = wide ? add_wide(scratch[item], other) : scratch[item] + other;
    }
    count = half_count;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return scratch[0];
}

// Groups: (bin, one of the frames in `active`). Results are [frame][word][bin], of the words that are wanted. `scratch`
// has room for one number a work-item.
kernel void sum_robust(PlanNumbers plan, RobustNumbers robust, global const uint* rows, global const uint* row_pixels,
                       global const uint* row_weights, global const uint* row_divisors,
                       global const int* normalization, global const int* dark, global const int* pixels,
                       ulong pixel_entries, global const uint* active, global const int* finer,
                       global const uint* one_counts, global const int4* windows, global const long* keys,
                       global const long2* ranks, global long* results, global uint* invalid_counts,
                       local ulong2* scratch, volatile global uint* violations) {
  const uint bin = get_group_id(0);
  const uint frame = AT(active, get_group_id(1), LANES);
  const ulong place = (ulong)frame * plan.bins + bin;
  const ulong places = (ulong)robust.frames * plan.bins;
  int4 window = (int4)(0, 0, 0, WINDOW_OPEN);
  long2 rank = (long2)(0, 0);
  if (robust.by_rank) {
    rank = AT(ranks, place, places);
  } else {
    window = AT(windows, place, places);
  }
  if (window.w & WINDOW_AS_BEFORE) return;
  const long one = AT(one_counts, frame, LANES);
  const uint end = AT(rows, bin + 1, (ulong)plan.bins + 1);
  ulong signal = 0, variance = 0, missing_normalization = 0, missing_dark = 0, missing_count = 0, clipped = 0;
  ulong2 squares = 0, products = 0, missing_squares = 0;
  for (uint entry = AT(rows, bin, (ulong)plan.bins + 1) + get_local_id(0); entry < end; entry += get_local_size(0)) {
    const uint pixel = AT(row_pixels, entry, plan.entries);
    const uint coded = AT(row_weights, entry, plan.entries);
    const uint n = AT(row_divisors, entry, plan.entries);
    const long weight = coded & WEIGHT;
    const long square = squared((uint)weight, robust.square_shift);
    const Value value = load_value(plan, robust, pixel, frame, pixels, pixel_entries, dark, finer, violations);
    bool inside = value.is_valid;
    if (inside && robust.by_rank) {
      const long key = AT(keys, (ulong)frame * plan.entries + entry, (ulong)robust.frames * plan.entries);
      inside = key >= rank.x && key <= rank.y;
    } else if (inside) {
      inside = holds(window, value.s, n);
    }
    if (inside) {
      signal += (ulong)(weight * value.raw);
      if (plan.has_variance) variance += (ulong)(squared((uint)weight, plan.square_shift) * max(value.raw, one));
      if (!(robust.wanted & WANTS_SQUARES)) continue;
      squares = add_wide(squares, multiply_wide(multiply(value.s, value.s), (ulong)square));
      products = add_wide(products, multiply(square * n, value.s));
      continue;
    }
    if (value.is_valid) {
      clipped += 1;
    } else if (robust.count_invalid && (coded & FIRST_ENTRY)) {
      atomic_inc(&AT(invalid_counts, frame, LANES));
    }
    missing_normalization += (ulong)(weight * AT(normalization, pixel, plan.pixels));
    if (plan.has_dark) missing_dark += (ulong)(weight * AT(dark, pixel, plan.pixels));
    missing_count += (ulong)weight;
    missing_squares = add_wide(missing_squares, multiply((long)n * n, square));
  }
  // Two words at a time.
  const ulong2 sums[SUM_WORDS / 2] = {(ulong2)(signal, variance), squares, products,
                                      (ulong2)(missing_normalization, missing_dark), (ulong2)(missing_count, clipped),
                                      missing_squares};
  ulong at = (ulong)frame * robust.words * plan.bins + bin;
  for (uint i = 0; i < SUM_WORDS / 2; ++i) {
    const uint wanted = robust.wanted >> (2 * i);
    if (!(wanted & 3)) continue;
    const ulong2 sum = reduce_wide(sums[i], i == 1 || i == 2 || i == 5, scratch);
    for (uint word = 0; word < 2; ++word) {
      if (!(wanted >> word & 1)) continue;
      if (get_local_id(0) == 0) AT(results, at, places * robust.words) = (long)(word == 0 ? sum.x : sum.y);
      at += plan.bins;
    }
  }
}
