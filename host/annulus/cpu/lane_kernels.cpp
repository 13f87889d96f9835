#include <annulus/cpu/lane_kernels.hpp>

namespace annulus {

extern const LaneKernels kLaneKernelsGeneric;
#if defined(__x86_64__)
extern const LaneKernels kLaneKernelsAvx2;
extern const LaneKernels kLaneKernelsAvx512;
#endif

const LaneKernels& lane_kernels(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return kLaneKernelsAvx512;
  if (set == InstructionSet::kAvx2) return kLaneKernelsAvx2;
#endif
  static_cast<void>(set);
  return kLaneKernelsGeneric;
}

}  // namespace annulus
