#include <annulus/codecs/quantise.hpp>
#include <annulus/core/error.hpp>
#include <annulus/engine/prepare.hpp>
#include <annulus/plan/validity.hpp>

#include <fmt/format.h>

namespace annulus {

Frame prepare_frame(const Plan& plan, Frame frame) {
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
  if (!needs_quantising(frame.type)) return frame;
  FloatValidity validity;
  if (const auto dummy = effective_dummy(plan.options, plan.geometry.detector, frame.type)) {
    validity.dummy = dummy->value;
    validity.delta = dummy->delta;
  }
  if (plan.options.max_count) validity.max_count = static_cast<double>(*plan.options.max_count);
  return quantise(frame, validity, plan.has_variance() ? kCountFractionBits : kMaxFractionBits);
}

}  // namespace annulus
