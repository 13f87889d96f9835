// What all kernels that reduce frames share. OpenCL C 1.2; no floating point, no 64-bit atomics, no sub-groups.

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
