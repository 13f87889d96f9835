// What all kernels share. OpenCL C 1.2; no floating point, no 64-bit atomics, no sub-groups.

// Every access to global memory goes through one of these. With CHECK_BOUNDS an index that is out of bounds is
// counted and replaced by 0: tests run that build.
#ifdef CHECK_BOUNDS
ulong checked_index(ulong index, ulong width, ulong count, volatile global uint* violations) {
  if (index < count && width <= count - index) return index;
  atomic_inc(violations);
  return 0;
}
#define INDEX(index, width, count) checked_index((index), (width), (count), violations)
#else
#define INDEX(index, width, count) ((void)(count), (index))
#endif
#define AT(array, index, count) (array)[INDEX(index, 1, count)]
#define LOAD(width, array, index, count) vload##width(0, (array) + INDEX(index, width, count))
#define STORE(width, value, array, index, count) vstore##width((value), 0, (array) + INDEX(index, width, count))

// Where a frame's payload is: five numbers a frame.
#define FRAME_OFFSET 0    // of its first byte among the packed ones
#define FRAME_BYTES 1
#define FRAME_FIRST 2     // of its segments or blocks
#define FRAME_PIECES 3    // how many it has of them
#define FRAME_BLOCK 4     // pixels of a full block
#define FRAME_NUMBERS 5

// Part of the pixels: decoded and integrated at one go, so that they can stay in a cache between the two.
typedef struct {
  uint first;
  uint end;
  uint stride;  // between frames in the memory for decoded pixels
} Band;

// Frames fill the lanes of a vector: 16 side by side.
#define LANES 16
