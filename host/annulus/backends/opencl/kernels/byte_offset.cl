// CBF byte offset in three steps. A payload is cut into segments of equal length, and nobody knows yet where in a
// segment the first code begins: it is one of 15 places. `survey_segments` finds, for each of them, how many pixels
// follow, what they add up to and where the next segment is entered; chains of codes that begin at different places
// soon meet, so this costs little more than one. `join_segments` follows the one true way through these tables.
// `decode_segments` then decodes every segment on its own. Codes of 1, 3, 7 and 15 bytes are the same to all three.

#define STATES 15  // places where the first code of a segment may begin

#define MARK 0x8080808080808080UL
#define ONES 0x0101010101010101UL

// Whether a byte announces a longer code.
int has_marker(ulong2 bytes) {
  const ulong2 zeros = bytes ^ MARK;
  const ulong2 found = (zeros - ONES) & ~zeros & MARK;
  return (found.x | found.y) != 0;
}

// The sum of eight signed bytes, or of sixteen.
long sum8(ulong bytes) {
  const ulong shifted = bytes ^ MARK;  // each is 128 more and unsigned
  const ulong pairs = (shifted & 0x00ff00ff00ff00ffUL) + ((shifted >> 8) & 0x00ff00ff00ff00ffUL);
  return (long)((pairs * 0x0001000100010001UL) >> 48) - 8 * 128;
}
long sum16(ulong2 bytes) { return sum8(bytes.x) + sum8(bytes.y); }

// The code at `at`; its length. Payloads are followed by enough bytes that none is read out of bounds; a code that
// does not end where its payload does is found by its length.
uint read_code(global const uchar* packed, ulong packed_bytes, ulong at, long* delta,
               volatile global uint* violations) {
  const char byte = as_char(AT(packed, at, packed_bytes));
  *delta = byte;
  if (byte != -128) return 1;
  const short two = as_short(LOAD(2, packed, at + 1, packed_bytes));
  *delta = two;
  if (two != -32768) return 3;
  const int four = as_int(LOAD(4, packed, at + 3, packed_bytes));
  *delta = four;
  if (four != INT_MIN) return 7;
  *delta = as_long(LOAD(8, packed, at + 7, packed_bytes));
  return 15;
}

// Codes from a place on: where they end, how many there are and their sum, modulo 2^64.
typedef struct {
  ulong at;
  uint count;
  ulong sum;
} Chain;

void next_code(global const uchar* packed, ulong packed_bytes, Chain* chain, volatile global uint* violations) {
  long delta;
  chain->at += read_code(packed, packed_bytes, chain->at, &delta, violations);
  chain->sum += (ulong)delta;
  chain->count += 1;
}

void walk(global const uchar* packed, ulong packed_bytes, Chain* chain, ulong limit,
          volatile global uint* violations) {
  while (chain->at < limit) {
    if (chain->at + 16 <= limit) {
      const ulong2 bytes = as_ulong2(LOAD(16, packed, chain->at, packed_bytes));
      if (!has_marker(bytes)) {
        chain->sum += (ulong)sum16(bytes);
        chain->count += 16;
        chain->at += 16;
        continue;
      }
    }
    ulong before;
    do {
      before = chain->at;
      next_code(packed, packed_bytes, chain, violations);
    } while (chain->at == before + 1 && chain->at < limit);
  }
}

// What follows from `branch` on, given the whole of another chain, `trunk`, from `root` on: both are followed until
// they meet.
Chain follow(global const uchar* packed, ulong packed_bytes, Chain branch, Chain root, Chain trunk, ulong limit,
             volatile global uint* violations) {
  while (branch.at != root.at && min(branch.at, root.at) < limit) {
    if (branch.at < root.at) {
      next_code(packed, packed_bytes, &branch, violations);
    } else {
      next_code(packed, packed_bytes, &root, violations);
    }
  }
  if (branch.at != root.at) return branch;  // both left the segment
  branch.at = trunk.at;
  branch.count += trunk.count - root.count;
  branch.sum += trunk.sum - root.sum;
  return branch;
}

// One work-item a segment: (segment, frame).
kernel void survey_segments(global const uchar* packed, ulong packed_bytes, global const ulong* frames,
                            uint frame_count, uint segment_bytes, global ulong* sums, global uint* ends,
                            ulong table_entries, volatile global uint* violations) {
  const uint segment = get_global_id(0);
  const uint frame = get_global_id(1);
  const ulong numbers = frame_count * FRAME_NUMBERS;
  if (segment >= AT(frames, frame * FRAME_NUMBERS + FRAME_PIECES, numbers)) return;
  const ulong offset = AT(frames, frame * FRAME_NUMBERS + FRAME_OFFSET, numbers);
  const ulong bytes = AT(frames, frame * FRAME_NUMBERS + FRAME_BYTES, numbers);
  const ulong table = (AT(frames, frame * FRAME_NUMBERS + FRAME_FIRST, numbers) + segment) * STATES;
  const ulong begin = offset + (ulong)segment * segment_bytes;
  const ulong limit = min(begin + segment_bytes, offset + bytes);

  // From the last place to the first, so that a code which ends at a later one finds what follows. The trunk is the
  // chain from the last place.
  Chain chains[STATES];
  Chain root;
  Chain trunk;
  for (int state = STATES - 1; state >= 0; --state) {
    Chain chain = {begin + state, 0, 0};
    if (chain.at < limit) {
      next_code(packed, packed_bytes, &chain, violations);
      if (chain.at < begin + STATES) {
        const Chain rest = chains[chain.at - begin];
        chain.at = rest.at;
        chain.count += rest.count;
        chain.sum += rest.sum;
      } else if (state < STATES - 1) {
        chain = follow(packed, packed_bytes, chain, root, trunk, limit, violations);
      }
    }
    if (state == STATES - 1) {
      root = chain;
      walk(packed, packed_bytes, &chain, limit, violations);
      trunk = chain;
    }
    chains[state] = chain;
  }
  for (int state = 0; state < STATES; ++state) {
    AT(sums, table + state, table_entries) = chains[state].sum;
    AT(ends, table + state, table_entries) = chains[state].count << 4 | (uint)(chains[state].at - limit);
  }
}

// What stands before the first code of a segment.
typedef struct {
  uint entry;  // bytes of the segment that belong to the code before
  uint pixel;
  ulong value;
} Start;

void pass_segment(Start* start, ulong table, global const ulong* sums, global const uint* ends, ulong table_entries,
                  volatile global uint* violations) {
  const uint end = AT(ends, table + start->entry, table_entries);
  start->value += AT(sums, table + start->entry, table_entries);
  start->pixel += end >> 4;
  start->entry = end & 15;
}

// One work-group a frame: each work-item has a share of its segments. `states` and `values` have room for STATES
// a work-item.
kernel void join_segments(global const ulong* frames, uint frame_count, uint pixels, global const ulong* sums,
                          global const uint* ends, ulong table_entries, global uint* entries, global uint* positions,
                          global ulong* values, ulong start_entries, global uint* faulty, local uint2* local_ends,
                          local ulong* local_sums, volatile global uint* violations) {
  const uint frame = get_group_id(0);
  const uint item = get_local_id(0);
  const uint items = get_local_size(0);
  const ulong numbers = frame_count * FRAME_NUMBERS;
  const ulong first = AT(frames, frame * FRAME_NUMBERS + FRAME_FIRST, numbers);
  const uint segments = AT(frames, frame * FRAME_NUMBERS + FRAME_PIECES, numbers);
  const uint share = (segments + items - 1) / items;
  const uint begin = min(item * share, segments);
  const uint end = min(begin + share, segments);

  if (items > 1) {
    for (uint state = 0; state < STATES; ++state) {
      Start start = {state, 0, 0};
      for (uint segment = begin; segment < end; ++segment) {
        pass_segment(&start, (first + segment) * STATES, sums, ends, table_entries, violations);
      }
      local_ends[item * STATES + state] = (uint2)(start.entry, start.pixel);
      local_sums[item * STATES + state] = start.value;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  Start start = {0, 0, 0};
  for (uint before = 0; before < item; ++before) {
    const uint place = before * STATES + start.entry;
    start.entry = local_ends[place].x;
    start.pixel += local_ends[place].y;
    start.value += local_sums[place];
  }
  // One more start than segments: of what follows the last.
  const ulong row = first + frame;
  for (uint segment = begin; segment < end; ++segment) {
    AT(entries, row + segment, start_entries) = start.entry;
    AT(positions, row + segment, start_entries) = start.pixel;
    AT(values, row + segment, start_entries) = start.value;
    pass_segment(&start, (first + segment) * STATES, sums, ends, table_entries, violations);
  }
  if (begin < end && end == segments) {
    AT(positions, row + segments, start_entries) = start.pixel;
    if (start.pixel != pixels || start.entry != 0) atomic_or(&AT(faulty, frame, frame_count), 1u);
  }
}

// Sums of the first 1, 2, ... 16 values.
int16 running_sums(int16 v) {
  v += (int16)(0, v.s0123, v.s456789ab, v.scde);
  v += (int16)(0, 0, v.s0123, v.s456789ab, v.scd);
  v += (int16)(0, 0, 0, 0, v.s01234567, v.s89ab);
  v += (int16)(0, 0, 0, 0, 0, 0, 0, 0, v.s01234567);
  return v;
}

// From values this small a run of 16 short codes stays within 32 bits.
#define SAFE_VALUE (INT_MAX - 16 * 128)

// One work-item a segment: (segment, frame). Writes those of its pixels that are in the band.
kernel void decode_segments(global const uchar* packed, ulong packed_bytes, global const ulong* frames,
                            uint frame_count, uint pixel_count, uint segment_bytes, global const uint* entries,
                            global const uint* positions, global const ulong* values, ulong start_entries, Band band,
                            global int* pixels, ulong pixel_entries, global uint* faulty,
                            volatile global uint* violations) {
  const uint segment = get_global_id(0);
  const uint frame = get_global_id(1);
  const ulong numbers = frame_count * FRAME_NUMBERS;
  if (segment >= AT(frames, frame * FRAME_NUMBERS + FRAME_PIECES, numbers)) return;
  const ulong row = AT(frames, frame * FRAME_NUMBERS + FRAME_FIRST, numbers) + frame + segment;
  uint pixel = AT(positions, row, start_entries);
  if (pixel >= band.end || AT(positions, row + 1, start_entries) <= band.first) return;
  const ulong offset = AT(frames, frame * FRAME_NUMBERS + FRAME_OFFSET, numbers);
  const ulong bytes = AT(frames, frame * FRAME_NUMBERS + FRAME_BYTES, numbers);
  const ulong begin = offset + (ulong)segment * segment_bytes;
  const ulong limit = min(begin + segment_bytes, offset + bytes);
  ulong at = begin + AT(entries, row, start_entries);
  long value = (long)AT(values, row, start_entries);
  const ulong out = (ulong)frame * band.stride;

  while (at < limit && pixel < band.end) {
    if (at + 16 <= limit && pixel + 16 <= band.end && value >= -SAFE_VALUE && value <= SAFE_VALUE) {
      const uchar16 run = LOAD(16, packed, at, packed_bytes);
      if (!has_marker(as_ulong2(run))) {
        if (pixel >= band.first) {
          const int16 sums = running_sums(convert_int16(as_char16(run))) + (int)value;
          STORE(16, sums, pixels, out + (pixel - band.first), pixel_entries);
          value = sums.sf;
          at += 16;
          pixel += 16;
          continue;
        }
        if (pixel + 16 <= band.first) {
          value += sum16(as_ulong2(run));
          at += 16;
          pixel += 16;
          continue;
        }
      }
    }
    uint length;
    do {
      long delta;
      length = read_code(packed, packed_bytes, at, &delta, violations);
      value = (long)((ulong)value + (ulong)delta);
      at += length;
      if (value != (int)value) atomic_or(&AT(faulty, frame, frame_count), 1u);
      if (pixel >= band.first) AT(pixels, out + (pixel - band.first), pixel_entries) = (int)value;
      ++pixel;
    } while (length == 1 && at < limit && pixel < band.end && pixel != band.first);
  }
}
