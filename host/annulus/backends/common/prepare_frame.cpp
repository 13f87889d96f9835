#include <annulus/backends/common/prepare_frame.hpp>
#include <annulus/codecs/quantise.hpp>
#include <annulus/core/error.hpp>
#include <annulus/plan/validity.hpp>

#include <fmt/core.h>

#include <string>

namespace annulus {

Frame prepare_frame(const Job& job, Frame frame) {
  const Plan& plan = *job.plan;
  if (!(frame.shape == plan.shape)) {
    throw Error(
        ErrorKind::kInput, describe(frame),
        fmt::format("its shape is {}, the scan's is {}", to_string(frame.shape), to_string(plan.shape)),
        "reduce frames of another shape in a scan of their own");
  }
  if (frame.type != plan.pixel_type) {
    throw Error(
        ErrorKind::kInput, describe(frame),
        fmt::format("its pixels are {}, the scan's are {}", name_of(frame.type), name_of(plan.pixel_type)),
        "reduce frames of another type in a scan of their own");
  }
  if (!plan.options.max_count && frame.max_count &&
      saturation_of(plan.options, frame.max_count) != plan.saturation) {
    throw Error(ErrorKind::kInput, describe(frame),
                fmt::format("it says that it saturates at {}, which is not the scan's {}", *frame.max_count,
                            plan.saturation ? std::to_string(*plan.saturation) : "(nothing said)"),
                "give the limit for all frames with `max_count`");
  }
  if (!needs_quantising(frame.type)) return frame;
  FloatValidity validity;
  if (const auto dummy = effective_dummy(plan.options, plan.geometry.detector, frame.type)) {
    validity.dummy = dummy->value;
    validity.delta = dummy->delta;
  }
  validity.max_count = largest_value(plan.saturation, frame.type);
  // Pixels that contribute to nothing have no say in the scale of the others.
  validity.is_used = [&plan](std::size_t pixel) {
    return plan.matrix.first[pixel] != plan.matrix.first[pixel + 1];
  };
  return quantise(frame, validity, job.recipe.has_variance() ? kCountFractionBits : kMaxFractionBits);
}

}  // namespace annulus
