#include <annulus/tomography/lane_loops_impl.hpp>

#include <immintrin.h>

namespace annulus {
namespace {

struct Avx512Floats {
  static constexpr std::size_t kWidth = 16;
  static constexpr std::size_t kTogether = 4;  // of 32 registers
  using Vector = __m512;

  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector everywhere(float value) { return _mm512_set1_ps(value); }
  static Vector load(const float* at) { return _mm512_loadu_ps(at); }
  static void store(float* at, Vector value) { _mm512_storeu_ps(at, value); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
};

}  // namespace

extern const LaneLoops kLaneLoopsAvx512 = loops_of<Avx512Floats>();

}  // namespace annulus
