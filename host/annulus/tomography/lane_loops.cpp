#include <annulus/tomography/lane_loops.hpp>

namespace annulus {

extern const LaneLoops kLaneLoopsGeneric;
#if defined(__x86_64__)
extern const LaneLoops kLaneLoopsAvx2;
extern const LaneLoops kLaneLoopsAvx512;
#endif

const LaneLoops& lane_loops(InstructionSet set) {
#if defined(__x86_64__)
  static const bool has_fma = __builtin_cpu_supports("fma") != 0;  // AVX2 does not imply it
  if (set == InstructionSet::kAvx512 && has_fma) return kLaneLoopsAvx512;
  if (set == InstructionSet::kAvx2 && has_fma) return kLaneLoopsAvx2;
#endif
  static_cast<void>(set);
  return kLaneLoopsGeneric;
}

}  // namespace annulus
