// The plan's numbers and the rules of docs/numerics.md.

#ifdef PIXEL_UNSIGNED
typedef uint Pixel;
typedef uint4 Pixel4;
typedef uint16 Pixel16;
#define AS_PIXEL as_uint
#define AS_PIXEL16 as_uint16
#else
typedef int Pixel;
typedef int4 Pixel4;
typedef int16 Pixel16;
#define AS_PIXEL as_int
#define AS_PIXEL16 as_int16
#endif

typedef struct {
  uint pixels;
  uint bins;
  uint entries;
  uint square_shift;  // of a squared weight
  uint has_variance;
  uint has_dark;
  uint plain_low;     // so many values from here on are valid for certain
  uint plain_count;
  Pixel low;          // limits of validity
  Pixel high;
  Pixel dummy_low;    // an empty interval has low > high
  Pixel dummy_high;
} PlanNumbers;

#define FIRST_ENTRY 0x80000000u  // marks, in rows of bins, a pixel's first entry
#define WEIGHT 0x00ffffffu

#define IS_PLAIN(value, plan) ((as_uint(value) - (plan).plain_low) < (plan).plain_count)
#define IS_VALID(value, plan)                                              \
  ((value) >= (plan).low && (value) <= (plan).high &&                      \
   !((value) >= (plan).dummy_low && (value) <= (plan).dummy_high))

// A weight's square in units of 2^-variance_bits: rounded, and at least one unit.
long squared(uint weight, uint shift) {
  const ulong half_unit = shift > 0 ? 1UL << (shift - 1) : 0;
  const ulong square = ((ulong)weight * weight + half_unit) >> shift;
  return (long)max(square, 1UL);
}

// Adds to a 64-bit sum that others add to at the same time, with 32-bit atomics: whoever lets the lower half overflow
// carries. In the end the sum is right, whatever the order.
void add_shared_global(volatile global uint* sum, ulong value) {
  const uint low = (uint)value;
  const uint carry = atomic_add(sum, low) > ~low ? 1 : 0;
  const uint high = (uint)(value >> 32) + carry;
  if (high != 0) atomic_add(sum + 1, high);
}
void add_shared_local(volatile local uint* sum, ulong value) {
  const uint low = (uint)value;
  const uint carry = atomic_add(sum, low) > ~low ? 1 : 0;
  const uint high = (uint)(value >> 32) + carry;
  if (high != 0) atomic_add(sum + 1, high);
}
