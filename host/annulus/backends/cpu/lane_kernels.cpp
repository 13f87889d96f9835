#include <annulus/backends/cpu/lane_kernels.hpp>

namespace annulus {

extern const LaneKernels kLaneKernelsGeneric;
extern const LaneKernels kSingleLaneKernelsGeneric;
#if defined(__x86_64__)
extern const LaneKernels kLaneKernelsAvx2;
extern const LaneKernels kLaneKernelsAvx512;
extern const LaneKernels kSingleLaneKernelsAvx2;
#elif defined(__aarch64__)
extern const LaneKernels kLaneKernelsNeon;
#endif

const LaneKernels& lane_kernels(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return kLaneKernelsAvx512;
  if (set == InstructionSet::kAvx2) return kLaneKernelsAvx2;
#elif defined(__aarch64__)
  if (set == InstructionSet::kNeon) return kLaneKernelsNeon;
#endif
  static_cast<void>(set);
  return kLaneKernelsGeneric;
}

const LaneKernels& single_lane_kernels(InstructionSet set) {
#if defined(__x86_64__)
  if (set != InstructionSet::kGeneric) return kSingleLaneKernelsAvx2;
#endif
  static_cast<void>(set);
  return kSingleLaneKernelsGeneric;
}

}  // namespace annulus
