// Medians and quantiles (plan/rank_clip.hpp), without floating point: devices need no double precision for them.

// What orders pixels like the nearest double of s / n, and is equal where that is: its bits, with the sign of s.
long key_of(long s, uint n) {
  const ulong magnitude = (ulong)(s < 0 ? -s : s);
  if (magnitude == 0) return 0;
  // The quotient with 54 or 55 bits: so many fraction bits, in two steps that fit 64 bits.
  const int fraction = 54 - ((int)clz((ulong)n) - (int)clz(magnitude));
  const int first = min(fraction, 41);
  const int second = fraction - first;
  ulong quotient = magnitude / n;
  ulong rest = (magnitude % n) << first;
  quotient = (quotient << first) + rest / n;
  rest = (rest % n) << second;
  quotient = (quotient << second) + rest / n;
  // Rounded to 53 bits. None is in the middle between two doubles: what divides without rest has at most 40 bits.
  const int extra = 11 - (int)clz(quotient);
  quotient = (quotient >> extra) + (quotient >> (extra - 1) & 1);
  const long key = (long)(((ulong)(1023 + 51 + extra - fraction) << 52) + quotient);
  return s < 0 ? -key : key;
}

// One work-item an entry: (entry of the rows, frame).
kernel void order_pixels(PlanNumbers plan, RobustNumbers robust, global const uint* row_pixels,
                         global const uint* row_divisors, global const int* dark, global const int* pixels,
                         ulong pixel_entries, global const int* finer, global long* keys,
                         volatile global uint* violations) {
  const uint entry = get_global_id(0);
  const uint frame = get_global_id(1);
  if (entry >= plan.entries) return;
  const Value value = load_value(plan, robust, AT(row_pixels, entry, plan.entries), frame, pixels, pixel_entries, dark,
                                 finer, violations);
  AT(keys, (ulong)frame * plan.entries + entry, (ulong)robust.frames * plan.entries) =
      value.is_valid ? key_of(value.s, AT(row_divisors, entry, plan.entries)) : NO_KEY;
}

// Of some pixels of a bin: what they weigh, and the least and the largest key of those that the search is about.
typedef struct {
  ulong2 weight;
  long least;
  long most;
} Ranked;

// That of all of a work-group.
Ranked reduce_ranked(Ranked mine, local Ranked* scratch) {
  const uint item = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  scratch[item] = mine;
  uint count = get_local_size(0);
  while (count > 1) {
    const uint half_count = (count + 1) / 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item + half_count < count) {
      const Ranked other = scratch[item + half_count];
      scratch[item].weight = add_wide(scratch[item].weight, other.weight);
      scratch[item].least = min(scratch[item].least, other.least);
      scratch[item].most = max(scratch[item].most, other.most);
    }
    count = half_count;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return scratch[0];
}

// What the pixels up to a key weigh, the largest key among them, and the least above them.
Ranked look_up_to(long pivot, uint begin, uint end, global const uint* row_weights, global const uint* row_divisors,
                  uint entries, global const long* keys, ulong first_key, ulong key_count, local Ranked* scratch,
                  volatile global uint* violations) {
  Ranked found = {(ulong2)(0, 0), NO_KEY, LONG_MIN};
  for (uint entry = begin + get_local_id(0); entry < end; entry += get_local_size(0)) {
    const long key = AT(keys, first_key + entry, key_count);
    if (key > pivot) {
      found.least = min(found.least, key);
      continue;
    }
    const ulong weight = (ulong)(AT(row_weights, entry, entries) & WEIGHT) * AT(row_divisors, entry, entries);
    found.weight = add_wide(found.weight, (ulong2)(weight, 0));
    found.most = max(found.most, key);
  }
  return reduce_ranked(found, scratch);
}

// A part of a weight, in units of 2^-30: rounded up, at least 1.
ulong2 part_of(ulong2 weight, uint part) {
  const ulong2 product = add_wide(multiply_wide(weight, part), (ulong2)((1UL << 30) - 1, 0));
  const ulong2 wanted = (ulong2)(product.x >> 30 | product.y << 34, product.y >> 30);
  return wanted.x == 0 && wanted.y == 0 ? (ulong2)(1, 0) : wanted;
}

// Groups: (bin, frame). Finds the least keys up to which the pixels weigh these parts of all, by halving a range of
// keys whose ends are keys that some pixel has. `scratch` has room for one a work-item.
kernel void find_ranks(PlanNumbers plan, RobustNumbers robust, global const uint* rows, global const uint* row_weights,
                       global const uint* row_divisors, global const long* keys, uint low_part, uint high_part,
                       global long2* ranks, local Ranked* scratch, volatile global uint* violations) {
  const uint bin = get_group_id(0);
  const uint frame = get_group_id(1);
  const uint begin = AT(rows, bin, (ulong)plan.bins + 1);
  const uint end = AT(rows, bin + 1, (ulong)plan.bins + 1);
  const ulong first_key = (ulong)frame * plan.entries;
  const ulong key_count = (ulong)robust.frames * plan.entries;
  const Ranked all = look_up_to(NO_KEY - 1, begin, end, row_weights, row_divisors, plan.entries, keys, first_key,
                                key_count, scratch, violations);
  long found[2];
  for (uint end_of_range = 0; end_of_range < 2; ++end_of_range) {
    const ulong2 wanted = part_of(all.weight, end_of_range == 0 ? low_part : high_part);
    long low = end_of_range == 0 ? LONG_MIN : found[0];
    long high = all.most;
    if (end_of_range == 1 && low_part == high_part) high = low;
    while (low < high) {
      const long pivot = (long)((ulong)low + ((ulong)high - (ulong)low) / 2);
      const Ranked up_to = look_up_to(pivot, begin, end, row_weights, row_divisors, plan.entries, keys, first_key,
                                      key_count, scratch, violations);
      const bool enough =
          up_to.weight.y > wanted.y || (up_to.weight.y == wanted.y && up_to.weight.x >= wanted.x);
      if (enough) {
        high = up_to.most;
      } else {
        low = up_to.least;
      }
    }
    found[end_of_range] = low;
  }
  if (get_local_id(0) == 0) {
    AT(ranks, (ulong)frame * plan.bins + bin, (ulong)robust.frames * plan.bins) = (long2)(found[0], found[1]);
  }
}
