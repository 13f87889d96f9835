// Numbers as the host has them, to the last bit: nothing is fused but where fma() says so.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

// A work-item computes LANES bins: VECTORS vectors of WIDTH numbers.
#define LANES (VECTORS * WIDTH)
#define JOIN(a, b) a##b
#define WITH_WIDTH(name, width) JOIN(name, width)
#define FLOATS WITH_WIDTH(float, WIDTH)
#define LOAD_WIDE(width, array, index, count) LOAD(width, array, index, count)
#define STORE_WIDE(width, value, array, index, count) STORE(width, value, array, index, count)
#define LOAD_FLOATS(array, index, count) LOAD_WIDE(WIDTH, array, index, count)
#define STORE_FLOATS(value, array, index, count) STORE_WIDE(WIDTH, value, array, index, count)

// Where a pixel lies among the values of a projection.
double place_of(double origin, double y, double sine, double x, double cosine) {
  const double start = origin - y * sine;
  return start + x * cosine;
}

float between(float low, float high, float part) { return low + (high - low) * part; }

// What the host compares with its own before it trusts a device. Arrays of `count` each, one after the other: three of
// floats, five of doubles. A work-item takes WIDTH of each.
kernel void try_arithmetic(global const float* floats, global const double* doubles, uint count, global float* fused,
                           global float* blended, global float* narrowed, global double* places,
                           volatile global uint* violations) {
  const uint first = get_global_id(0) * WIDTH;
  if (first >= count) return;
  STORE_FLOATS(fma(LOAD_FLOATS(floats, first, 3 * count), LOAD_FLOATS(floats, first + count, 3 * count),
                   LOAD_FLOATS(floats, first + 2 * count, 3 * count)),
               fused, first, count);
  for (uint i = first; i < first + WIDTH; ++i) {
    AT(blended, i, count) = between(AT(floats, i, 3 * count), AT(floats, i + count, 3 * count),
                                    AT(floats, i + 2 * count, 3 * count));
    const double place = place_of(AT(doubles, i, 5 * count), AT(doubles, i + count, 5 * count),
                                  AT(doubles, i + 2 * count, 5 * count), AT(doubles, i + 3 * count, 5 * count),
                                  AT(doubles, i + 4 * count, 5 * count));
    AT(places, i, count) = place;
    AT(narrowed, i, count) = (float)place;
  }
}
