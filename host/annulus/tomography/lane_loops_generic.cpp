#include <annulus/tomography/lane_loops_impl.hpp>
#include <annulus/tomography/software_fma.hpp>

namespace annulus {
namespace {

// Loops of fixed length that a compiler turns into whatever vectors its target has.
struct GenericFloats {
  static constexpr std::size_t kWidth = 8;
  static constexpr std::size_t kTogether = 2;
  struct Vector {
    float lane[kWidth];
  };

  static Vector zero() { return {}; }
  static Vector everywhere(float value) {
    return each([&](std::size_t) { return value; });
  }
  static Vector load(const float* at) {
    return each([&](std::size_t i) { return at[i]; });
  }
  static void store(float* at, const Vector& value) {
    for (std::size_t i = 0; i < kWidth; ++i) at[i] = value.lane[i];
  }
  static Vector fma(const Vector& a, const Vector& b, const Vector& c) {
#ifdef __FP_FAST_FMAF
    return each([&](std::size_t i) { return __builtin_fmaf(a.lane[i], b.lane[i], c.lane[i]); });
#else
    return each([&](std::size_t i) { return software_fma(a.lane[i], b.lane[i], c.lane[i]); });
#endif
  }

 private:
  template <typename F>
  static Vector each(F&& f) {
    Vector result;
    for (std::size_t i = 0; i < kWidth; ++i) result.lane[i] = f(i);
    return result;
  }
};

}  // namespace

extern const LaneLoops kLaneLoopsGeneric = loops_of<GenericFloats>();

}  // namespace annulus
