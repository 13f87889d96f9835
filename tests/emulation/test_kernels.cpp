#include "test_kernels.hpp"

#include <stdexcept>

extern "C" {

void add_vectors(const uint32_t* left, const uint32_t* right, uint32_t* sums, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) sums[i] = left[i] + right[i];
}

void echo_arguments(int64_t* values, int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f,
                    int64_t g, uint64_t h, uint32_t frame_count) {
  static int64_t runs = 0;  // a memory of the compute unit
  const int64_t all[] = {++runs, a, b, c, d, e, f, g, static_cast<int64_t>(h), frame_count};
  for (int64_t value : all) *values++ = value;
}

void break_protocol(uint32_t*) { throw std::runtime_error("the stream 'words' is read when it is empty"); }
}
