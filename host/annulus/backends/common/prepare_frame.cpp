#include <annulus/backends/common/backend.hpp>
#include <annulus/codecs/quantise.hpp>
#include <annulus/core/error.hpp>
#include <annulus/plan/validity.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace annulus {

FramePreparer::FramePreparer(Job job) : job_(std::move(job)) {
  const Plan& plan = *job_.plan;
  if (!needs_quantising(plan.pixel_type)) return;
  for (const std::int32_t dark : plan.dark)
    largest_dark_ = std::max(largest_dark_, std::abs(std::ldexp(static_cast<double>(dark), -plan.dark_bits)));
  used_.resize(plan.pixels());
  for (std::size_t pixel = 0; pixel < used_.size(); ++pixel) {
    used_[pixel] = plan.matrix.first[pixel] != plan.matrix.first[pixel + 1] ? 1 : 0;
  }
}

std::vector<Frame> FramePreparer::prepare(Frame frame) const {
  const Plan& plan = *job_.plan;
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
  if (!needs_quantising(frame.type)) {
    std::vector<Frame> unchanged;
    unchanged.push_back(std::move(frame));
    return unchanged;
  }
  FloatValidity validity;
  if (const auto dummy = effective_dummy(plan.options, plan.geometry.detector, frame.type)) {
    validity.dummy = dummy->value;
    validity.delta = dummy->delta;
  }
  validity.max_count = largest_value(plan.saturation, frame.type);
  validity.used = used_;  // pixels that contribute to nothing have no say in how the others are held
  if (job_.recipe.beyond_sums().empty()) return quantise(frame, validity, job_.recipe.has_variance());
  return round_pixels(frame, validity, {job_.recipe.has_variance(), largest_dark_});
}

FrameResult join_layers(std::vector<FrameResult> layers) {
  std::vector<Sums> sums;
  for (FrameResult& layer : layers) {
    if (!layer.good()) return std::move(layer);
    sums.push_back(std::move(layer.sums()));
  }
  return {std::move(layers.front().id), combine_layers(std::move(sums))};
}

}  // namespace annulus
