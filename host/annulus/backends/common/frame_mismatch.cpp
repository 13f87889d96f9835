#include <annulus/backends/common/frame_mismatch.hpp>
#include <annulus/plan/validity.hpp>

#include <fmt/format.h>

namespace annulus {

std::string frame_mismatch(const Plan& plan, const Frame& frame) {
  if (!(frame.shape == plan.shape)) {
    return fmt::format("its shape is {}, the plan is for {}", to_string(frame.shape), to_string(plan.shape));
  }
  const PixelType expected = needs_quantising(plan.pixel_type) ? PixelType::kI32 : plan.pixel_type;
  if (frame.type != expected) {
    return fmt::format("its pixels are {}, the plan is for {}", name_of(frame.type),
                       name_of(plan.pixel_type));
  }
  return {};
}

}  // namespace annulus
