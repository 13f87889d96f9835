#include <annulus/tomography/lane_loops_impl.hpp>

#include <immintrin.h>

namespace annulus {
namespace {

struct Avx2Floats {
  static constexpr std::size_t kWidth = 8;
  static constexpr std::size_t kTogether = 2;  // of 16 registers
  using Vector = __m256;

  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector everywhere(float value) { return _mm256_set1_ps(value); }
  static Vector load(const float* at) { return _mm256_loadu_ps(at); }
  static void store(float* at, Vector value) { _mm256_storeu_ps(at, value); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
};

}  // namespace

extern const LaneLoops kLaneLoopsAvx2 = loops_of<Avx2Floats>();

}  // namespace annulus
